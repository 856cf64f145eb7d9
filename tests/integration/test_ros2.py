# SPDX-License-Identifier: Apache-2.0
"""The node of docs/ros2.md, run with stand-ins for ROS against a daemon and against answers made up here."""

import json
import pathlib
import re
import sys
import types
import unittest
import unittest.mock

import jetmem_testing as jt
import servers

PAGE = pathlib.Path(__file__).parents[2] / "docs/ros2.md"


class Message:
    """A ROS message with no fields but these."""
    FIELDS = ()

    def __init__(self, **values):
        assert set(values) <= set(self.FIELDS), values
        self.header = types.SimpleNamespace()
        self.__dict__.update(values)


class Status(Message):
    # diagnostic_msgs/DiagnosticStatus: `byte level`, which is bytes in Python.
    OK, WARN, ERROR, STALE = b"\x00", b"\x01", b"\x02", b"\x03"
    FIELDS = ("level", "name", "message", "hardware_id", "values")


class KeyValue(Message):
    FIELDS = ("key", "value")


class Array(Message):
    FIELDS = ("header", "status")


class Ros2(unittest.TestCase):
    def setUp(self):
        self.rclpy = unittest.mock.MagicMock()
        stand_ins = unittest.mock.patch.dict(sys.modules, {
            "rclpy": self.rclpy, "diagnostic_msgs": types.ModuleType("diagnostic_msgs"),
            "diagnostic_msgs.msg": types.SimpleNamespace(
                DiagnosticArray=Array, DiagnosticStatus=Status, KeyValue=KeyValue)})
        stand_ins.start()
        self.addCleanup(stand_ins.stop)
        blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 1)
        self.code = {"__name__": "bridge"}
        exec(compile(blocks[0], str(PAGE), "exec"), self.code)

    def diagnostics(self, port):
        return self.code["diagnostics"](f"http://127.0.0.1:{port}/api/v1/status")

    def answering(self, body):
        """The port of a server that always gives this."""
        class Same(servers.Handler):
            def do_GET(self):
                self.answer(200, body.encode())
        return servers.serve(self, Same)

    def test_each_level(self):
        for level, expected in (("ok", Status.OK), ("warning", Status.WARN), ("critical", Status.ERROR),
                                ("unknown", Status.STALE), ("novel", Status.STALE)):
            self.assertEqual(self.diagnostics(self.answering(json.dumps({"level": level}))).level, expected, level)

    def test_no_answer_is_stale(self):
        for port in (jt.free_port(), self.answering("no JSON")):
            status = self.diagnostics(port)
            self.assertEqual((status.level, status.name), (Status.STALE, "jetmem"))
            self.assertNotEqual(status.message, "")

    def test_a_daemon(self):
        for board in ("orin-nano-8gb", "raspberry-pi-5"):
            daemon = jt.Daemon(self, root=jt.FIXTURES / board)
            daemon.wait_until_read()

            def agree():
                code, _, body = daemon.request("GET", "/api/v1/status")
                answer, status = json.loads(body), self.diagnostics(daemon.port)
                again = json.loads(daemon.request("GET", "/api/v1/status")[2])
                return (code, answer, status) if answer["reason"] == again["reason"] == status.message else None
            code, answer, status = jt.wait_for("an answer that holds still", agree)
            self.assertEqual(code, 200)
            expected = {"ok": Status.OK, "warning": Status.WARN, "critical": Status.ERROR, "unknown": Status.STALE}
            self.assertEqual(status.level, expected[answer["level"]])
            self.assertEqual(status.hardware_id, answer["device"].get("model", ""))
            self.assertEqual([each.key for each in status.values],
                             [each["alert"] for each in answer["alerts"]["alerts"]])
            for each in status.values:
                self.assertIsInstance(each.value, str)
            daemon.stop()

    def test_the_node_publishes(self):
        node = self.rclpy.create_node.return_value
        # A timer calls once when it is made.
        node.create_timer.side_effect = lambda _, call: call()
        self.code["main"]()
        self.assertEqual(node.create_publisher.call_args.args[:2], (Array, "/diagnostics"))
        self.assertEqual(node.create_timer.call_args.args[0], 1.0)
        message, = node.create_publisher.return_value.publish.call_args.args
        self.assertEqual(message.header.stamp, node.get_clock().now().to_msg())
        self.assertEqual([status.name for status in message.status], ["jetmem"])


if __name__ == "__main__":
    jt.main()
