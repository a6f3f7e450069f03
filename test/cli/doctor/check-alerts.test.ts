import { expect, test } from 'vitest';
import { checkAlerts } from '../../../src/cli/doctor/check-services.ts';
import { readConfig } from '../../../src/config/config.ts';
import { newWebhookSecret } from '../../../src/jobs/webhooks/webhook-secrets.ts';

const look = (environment: Record<string, string>) =>
  checkAlerts(readConfig(environment, null), new AbortController().signal);

test('the doctor says whether operators are told of failures, and where, without the secret of the address', () => {
  expect(look({})).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/^ALERT_WEBHOOK_URL is not set/),
  });
  const set = {
    ALERT_WEBHOOK_URL: 'http://alerts.internal:9000/hook?token=hush',
    ALERT_WEBHOOK_SECRET: newWebhookSecret(),
  };
  expect(look(set)).toMatchObject({
    message: expect.stringContaining('to http://alerts.internal:9000; try it'),
  });
  expect(JSON.stringify(look(set))).not.toContain('hush');
});
