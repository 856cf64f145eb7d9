// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/redact.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

std::string redacted(std::string_view text) {
  Redacted counts;
  return redact_text(text, counts);
}

TEST(Redact, RemovesAddresses) {
  EXPECT_EQ(redacted("eth0: 48:b0:2d:12:34:56 up\n"), "eth0: <address> up\n");
  EXPECT_EQ(redacted("eth0: 48-b0-2d-12-34-56\n"), "eth0: <address>\n");
  EXPECT_EQ(redacted("from 192.168.1.20, 10.0.0.1:80"), "from <address>, <address>:80");
  EXPECT_EQ(redacted("addr fe80::4ab0:2dff:fe12:3456/64"), "addr <address>/64");
  EXPECT_EQ(redacted("2001:db8:1:2:3:4:5:6"), "<address>");
  EXPECT_EQ(redacted("from:fe80::1 peer:2001:db8::5."), "from:<address> peer:<address>.");
  EXPECT_EQ(redacted("in c++::dead::beef()"), "in c++::dead::beef()");
}

TEST(Redact, RemovesIdsAndNames) {
  EXPECT_EQ(redacted("UUID 5f3c9d5e-1111-2222-3333-444455556666."), "UUID <id>.");
  EXPECT_EQ(redacted("usb 1-1: SerialNumber: A1424 x"), "usb 1-1: SerialNumber: <id>");
  EXPECT_EQ(redacted("serial=0424 y"), "serial=<id> y");
  EXPECT_EQ(redacted("open /home/alice/model.plan"), "open /home/<name>/model.plan");
}

TEST(Redact, RemovesSecretsInOtherForms) {
  EXPECT_EQ(redacted("6,1,2,-;Unknown kernel command line parameters \"token=SECRET cma=1G\", will "
                     "be passed to user space.\nx"),
            "6,1,2,-;Unknown kernel command line parameters \"token=<omitted> cma=1G\", will be "
            "passed to user space.\nx");
  EXPECT_EQ(redacted("systemd[1]: Set hostname to <robot7>."),
            "systemd[1]: Set hostname to <<name>>.");
  EXPECT_EQ(redacted("Hostname set to <robot7>."), "Hostname set to <<name>>.");
  EXPECT_EQ(redacted("[UFW BLOCK] MAC=48:b0:2d:12:34:56:aa:bb:cc:dd:ee:ff:08:00 SRC=10.1.2.3"),
            "[UFW BLOCK] MAC=<address> SRC=<address>");
  EXPECT_EQ(redacted("IP-Config: Complete: host=robot7, domain=acme.example, nis-domain=(none)"),
            "IP-Config: Complete: host=<name>, domain=<name>, nis-domain=<name>");
  EXPECT_EQ(redacted("     host=robot7, domain=acme, nis-domain=(none)"),
            "     host=<name>, domain=<name>, nis-domain=<name>");
  EXPECT_EQ(redacted("audit: type=1309 audit(1.2:3): argc=2 a0=\"mysql\" a1=\"--password=S\""),
            "audit: type=1309 audit(1.2:3): argc=2 <omitted>");
  EXPECT_EQ(redacted("audit: type=1327 audit(1.2:3): proctitle=6D79"),
            "audit: type=1327 audit(1.2:3): <omitted>");
  EXPECT_EQ(redacted("from ::ffff:192.168.77.88 x"), "from <address> x");
  EXPECT_EQ(redacted("x-48:b0:2d:12:34:56 ip_192.168.99.98"), "x-<address> ip_<address>");
  EXPECT_EQ(redacted("S/N: A12"), "S/N: <id>");
  EXPECT_EQ(redacted("usb: SerialNumber: AB CD"), "usb: SerialNumber: <id>");
  EXPECT_EQ(redacted("serial=\"AB CD\" z"), "serial=\"<id>\" z");
  Redacted counts;
  redact_text("Hostname set to <robot7>.", counts);
  EXPECT_EQ(counts.names, 1);
  EXPECT_EQ(counts.ids, 0);
}

TEST(Redact, RemovesKeysAndAddressesOfTheWeb) {
  EXPECT_EQ(redacted("see rtsp://cam:pw@host7/a, https://x.example/y?t=1 http://x.example/z"),
            "see rtsp://<address> https://<address> http://x.example/z");
  EXPECT_EQ(redacted("of ann.b@acme.example, user@1000.service"), "of <name>, user@1000.service");
  EXPECT_EQ(redacted("AKIAIOSFODNN7EXAMPLE ghp_16C7e42F292c6912E7710c838347Ae x"),
            "<id> ghp_<id> x");
  EXPECT_EQ(redacted("IMEI 356938035643809 and 8931440301234567890"),
            "IMEI <id> and 8931440301234567890")
      << "the second does not prove itself";
  EXPECT_EQ(redacted("ratio 0.765063866963096"), "ratio 0.765063866963096");
  EXPECT_EQ(redacted("1.3.6.1.356938035643809"), "1.3.6.1.<id>") << "no fraction";
  EXPECT_EQ(redacted("token=abc password: x, psk=\"a b\""),
            "token=<id> password: <id>, psk=\"<id>\"");
  EXPECT_EQ(redacted("password_file: /etc/x"), "password_file: /etc/x");
  EXPECT_EQ(redacted("at ffffc90000007ff8 0x0000300100000010 \\x090x0000300100000010"),
            "at ffffc90000007ff8 0x0000300100000010 \\x090x0000300100000010");
}

TEST(Redact, TakesACommandLineApartAsTheKernelDoes) {
  Redacted counts;
  EXPECT_EQ(redact_command_line("a=\"b secret\" cma=1G quiet -- init=x secret", counts),
            "a=<omitted> cma=1G <4 omitted>");
  EXPECT_EQ(counts.arguments, 5U);
}

TEST(Redact, KeepsIdentifiersOfFaults) {
  for (const char* line :
       {"3,90005,99000005,-;arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, "
        "iova=0x7fff0000, cbfrsynra=0x1001",
        "pcieport 0000:01:00.0: AER: Corrected error", "at 02:11:47 of 5.15.148-tegra",
        "nvmap: 17000000.gpu: dead:beef", "serial8250: ttyS0 at MMIO 0x3100000", "127.0.0.1:10743",
        "power_domain=gpu of scsi host0: x", "Call trace: std::foo::bar+0x10/0x20", "c0:ff:ee",
        "a::b"}) {
    EXPECT_EQ(redacted(line), line);
  }
}

TEST(Redact, AnswersNameNoHost) {
  Redacted counts;
  const std::string text = redact_json(R"({"host_name":"orin-7","boot_id":"x"})", counts, 0);
  EXPECT_EQ(text.find("orin-7"), std::string::npos) << text;
  EXPECT_EQ(counts.names, 1U);
}

TEST(Redact, KeepsKernelArgumentsAboutMemory) {
  Redacted counts;
  EXPECT_EQ(
      redact_command_line("root=/dev/sda cma=512M token=hunter2 iommu.passthrough=0\n", counts),
      "root=<omitted> cma=512M token=<omitted> iommu.passthrough=0");
  EXPECT_EQ(counts.arguments, 2);
  EXPECT_EQ(redacted("6,1,0,-;Kernel command line: quiet token=x cma=1G\nnext"),
            "6,1,0,-;Kernel command line: token=<omitted> cma=1G <1 omitted>\nnext");
}

TEST(Redact, CountsAndKeepsEveryLine) {
  Redacted counts;
  EXPECT_EQ(redact_text("\n\na\n\n", counts), "\n\na\n\n");
  EXPECT_EQ(counts.addresses + counts.ids + counts.names, 0);
}

}  // namespace
}  // namespace jetmem
