// SPDX-License-Identifier: Apache-2.0
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogCamera, CaptureOfXavierAndOrin) {
  const std::string head = "tegra-camrtc-capture-vi tegra-capture-vi: ";
  EXPECT_EQ(decoded(head + "uncorr_err: request timed out after 1500 ms"),
            "camera_timeout dev=tegra-capture-vi error=request timed out timeout_ms=1500\n");
  EXPECT_EQ(decoded(head + "err_rec: attempting to reset the capture channel"),
            "camera_error dev=tegra-capture-vi error=attempting to reset the capture channel\n");
  EXPECT_EQ(decoded(head + "corr_err: discarding frame 311, flags: 0, err_data 131072"),
            "camera_error dev=tegra-capture-vi error=discarding frame frame=311 flags=0 "
            "err_data=131072\n");
  EXPECT_EQ(decoded("tegra194-vi5 15c10000.vi: uncorr_err: flags 1, err_data 64"),
            "camera_error dev=15c10000.vi error=uncorr_err flags=1 err_data=64\n");
  EXPECT_EQ(decoded("tegra194-vi5 15c10000.vi: uncorr_err: request err -22"),
            "camera_error dev=15c10000.vi error=request err code=-22\n");
  EXPECT_EQ(decoded("tegra194-vi5 15c10000.vi: no reply from camera processor"),
            "camera_timeout dev=15c10000.vi error=no reply from camera processor\n");
  EXPECT_EQ(decoded("tegra194-vi5 13e00000.host1x:vi0@15c00000: vi_capture_setup: control failed, "
                    "errno 3"),
            "camera_error dev=13e00000.host1x:vi0@15c00000 error=control failed "
            "function=vi_capture_setup code=3\n");
  EXPECT_EQ(decoded("tegra-capture-vi: uncorr_err: request timed out after 1500 ms"),
            "camera_timeout dev=tegra-capture-vi error=request timed out timeout_ms=1500\n");
}

TEST(KernelLogCamera, CaptureOfTx2AndNano) {
  EXPECT_EQ(decoded("tegra-vi4 15700000.vi: PXL_SOF syncpt timeout! err = -11"),
            "camera_timeout dev=15700000.vi error=PXL_SOF syncpt timeout code=-11\n");
  EXPECT_EQ(decoded("tegra-vi4 15700000.vi: ATOMP_FE syncpt timeout!"),
            "camera_timeout dev=15700000.vi error=ATOMP_FE syncpt timeout\n");
  EXPECT_EQ(decoded("tegra-vi4 15700000.vi: ATOMP_FE syncpt timeout! err = -4"),
            "camera_timeout dev=15700000.vi error=ATOMP_FE syncpt timeout code=-4\n");
  EXPECT_EQ(decoded("tegra-vi4 15700000.vi: Status:  3 channel:01 frame:00A2"),
            "camera_error dev=15700000.vi error=capture status code=3 channel=1 frame=162\n");
  EXPECT_EQ(decoded("video4linux video1: frame start syncpt timeout!1"),
            "camera_timeout dev=video1 error=frame start syncpt timeout port=1\n");
  EXPECT_EQ(decoded("video4linux video1: tegra_channel_error_status:error 20022 frame 18"),
            "camera_error dev=video1 error=tegra_channel_error_status status=20022 frame=18\n");
}

TEST(KernelLogCamera, ReceiverStatus) {
  EXPECT_EQ(decoded("nvcsi 150c0000.nvcsi: csi4_stream_check_status (2) INTR_STATUS 0x00000004"),
            "camera_error dev=150c0000.nvcsi error=INTR_STATUS port=2 status=0x00000004\n");
  EXPECT_EQ(decoded("nvcsi 150c0000.nvcsi: csi4_stream_check_status (0) ERROR_STATUS2VI_VC1 = "
                    "0x00000001"),
            "camera_error dev=150c0000.nvcsi error=ERROR_STATUS2VI_VC1 port=0 "
            "status=0x00000001\n");
  EXPECT_EQ(decoded("vi 54080000.vi: TEGRA_VI_CSI_ERROR_STATUS 0x00000002"),
            "camera_error dev=54080000.vi error=TEGRA_VI_CSI_ERROR_STATUS status=0x00000002\n");
}

TEST(KernelLogCamera, CameraProcessor) {
  EXPECT_EQ(decoded("tegra186-cam-rtcpu bc00000.rtcpu: command: 0x01000000: response timeout"),
            "camera_timeout dev=bc00000.rtcpu error=response timeout command=0x01000000\n");
  EXPECT_EQ(decoded("tegra186-cam-rtcpu bc00000.rtcpu: Alert: Camera RTCPU gone bad! restoring it "
                    "immediately!!"),
            "camera_error dev=bc00000.rtcpu error=Camera RTCPU gone bad\n");
  EXPECT_EQ(decoded("[RCE] ERROR: camera-ip/vi5/vi5.c:700 [vi5_handle_frame] \"channel 3 lost a "
                    "frame\""),
            "camera_error dev=RCE error=vi5_handle_frame text=channel 3 lost a frame\n");
  EXPECT_EQ(decoded("[RCE] VM0 deactivating.BUG: core/watchdog.c:9 [halt] \"stopped\""),
            "camera_error dev=RCE error=halt text=stopped\n");
}

TEST(KernelLogCamera, UsbAndOthers) {
  EXPECT_EQ(decoded("uvcvideo 3-1:1.1: Non-zero status (-71) in video completion handler."),
            "camera_error dev=3-1:1.1 error=Non-zero status code=-71\n");
  EXPECT_EQ(decoded("uvcvideo: Non-zero status (-84) in video completion handler."),
            "camera_error dev=uvcvideo error=Non-zero status code=-84\n");
  EXPECT_EQ(decoded("usb 3-1: Failed to query (GET_CUR) UVC control 4 on unit 2: -110 (exp. 1)."),
            "camera_timeout dev=3-1 error=Failed to query UVC control code=-110\n");
  EXPECT_EQ(decoded("uvcvideo 3-1:1.0: Failed to set UVC probe control : -71 (exp. 26)."),
            "camera_error dev=3-1:1.0 error=Failed to set UVC control code=-71\n");
  EXPECT_EQ(decoded("ipu1_csi0: EOF timeout"), "camera_timeout dev=ipu1_csi0 error=EOF timeout\n");
}

TEST(KernelLogCamera, HarmlessAndGarbled) {
  EXPECT_EQ(decoded("tegra-camrtc-capture-vi tegra-capture-vi: err_rec: successfully reset the "
                    "capture channel\n"
                    "tegra-camrtc-capture-vi tegra-capture-vi: uncorr_err: request timed out after "
                    "some ms\n"
                    "tegra194-vi5 15c10000.vi: subdev imx477 10-001a bound\n"
                    "tegra186-cam-rtcpu bc00000.rtcpu: firmware version cpu=rce cmd=6\n"
                    "tegra186-cam-rtcpu bc00000.rtcpu: command: 0x01000000: sent\n"
                    "vi 54080000.vi: TEGRA_VI_CSI_ERROR_STATUS 0x00000000\n"
                    "nvcsi 150c0000.nvcsi: csi4_stream_check_status (x) INTR_STATUS 0x00000004\n"
                    "[RCE] VM0 activating.\n"
                    "eth0 3-2: Status: up\n"
                    "usb 3-1: Found UVC 1.10 device Some Camera (1234:abcd)\n"
                    "uvcvideo: Failed to query (GET_DEF) UVC control 9 on unit 2: -32 (exp. 2).\n"
                    "uvcvideo: Non-zero status (x) in video completion handler.\n"
                    "EOF timeout\n"),
            "");
}

TEST(KernelLogCamera, Sentences) {
  EXPECT_EQ(sentence_of("tegra194-vi5 15c10000.vi: uncorr_err: request timed out after 1500 ms"),
            "the camera driver of 15c10000.vi timed out, \"request timed out\", for 1500 ms");
  EXPECT_EQ(sentence_of("tegra194-vi5 15c10000.vi: corr_err: discarding frame 3, flags: 0"),
            "the camera driver of 15c10000.vi reports an error, \"discarding frame\", frame 3");
}

TEST(KernelLogCamera, CutLines) { expect_filter_agrees_on_cut_lines("camera.txt"); }

}  // namespace
}  // namespace jetmem::kernel_log
