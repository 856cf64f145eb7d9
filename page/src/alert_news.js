// SPDX-License-Identifier: Apache-2.0
// Whether /api/v1/alerts has something new that the first screen shows: the status, which is asked for
// anyway, says which alerts there are.

const keyOf = ({alerts: {firing, pending, unknown, alerts = []} = {}}) =>
  JSON.stringify([firing, pending, unknown, alerts.map(({alert, state}) => [alert, state])]);

// (page) -> wants(), for Device.watch('alerts').
export function alertNews(page) {
  let heard = false;
  let known = null;
  page.device.watch('alerts', 15, (answer) => {
    heard = answer !== null;
    known = null;
  }, () => false);
  const wants = () => {
    const status = page.device.latest('status');
    if (!heard || !status) return !heard;
    known ??= keyOf(status);
    return known !== keyOf(status);
  };
  page.device.watch('status', 3, () => heard && wants() && page.device.soon('alerts'));
  return wants;
}
