import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { verifyByContract } from './verify-by-contract.ts';
import { newWebhookSecret } from '../../../src/jobs/webhooks/webhook-secrets.ts';
import { signWebhook } from '../../../src/jobs/webhooks/send-webhook.ts';

import fc from 'fast-check';

const eventId = '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90';
const body = '{"event_id":"7c1d8f52","custom_data":{"who":"Zoë 🎨"}}';
const raw = Buffer.from(body);
const lowerCase = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

const sign = (secrets: Parameters<typeof signWebhook>[0]['secrets'], now = Date.now()) =>
  lowerCase(signWebhook({ brand: 'causeway', eventId, body, secrets, now }));

/** Throws unless it is genuine. */
const verifyByPackage = (secret: string, headers: Record<string, string>): unknown =>
  new Webhook(secret).verify(raw, headers);

test('a secret is whsec_ and 32 random bytes in base64', () => {
  const secret = newWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(Buffer.from(secret.slice(6), 'base64').length).toBe(32);
  expect(newWebhookSecret()).not.toBe(secret);
});

test('the headers are those of the contract and of Standard Webhooks, byte for byte', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const headers = signWebhook({
    brand: 'causeway',
    eventId,
    body,
    secrets: { current: secret, previous: null },
    now: 1_800_000_000_999,
  });
  const own = createHmac('sha256', Buffer.from(secret, 'utf8')).update(`1800000000.${body}`).digest('hex');
  const standard = createHmac('sha256', Buffer.alloc(32, 7)).update(`${eventId}.1800000000.${body}`);
  expect(headers).toEqual({
    'X-Causeway-Signature': `t=1800000000,v1=${own}`,
    'webhook-id': eventId,
    'webhook-timestamp': '1800000000',
    'webhook-signature': `v1,${standard.digest('base64')}`,
  });
});

test('the header contains the brand', () => {
  const secrets = { current: newWebhookSecret(), previous: null };
  const headers = signWebhook({ brand: 'acme', eventId, body, secrets, now: 0 });
  expect(Object.keys(headers)[0]).toBe('X-Acme-Signature');
});

test('the contract and the standardwebhooks package accept signed events, and nothing else', () => {
  const current = newWebhookSecret();
  const headers = sign({ current, previous: null });
  const now = Date.now();
  expect(verifyByContract({ headers, raw }, { secret: current, now })).toBe(true);
  expect(verifyByPackage(current, headers)).toEqual(JSON.parse(body));

  const other = newWebhookSecret();
  expect(verifyByContract({ headers, raw }, { secret: other, now })).toBe(false);
  expect(() => verifyByPackage(other, headers)).toThrow('No matching signature');
  const changed = Buffer.from(body.replace('Zoë', 'Zoe'));
  expect(verifyByContract({ headers, raw: changed }, { secret: current, now })).toBe(false);
  expect(() => new Webhook(current).verify(changed, headers)).toThrow('No matching signature');
});

test('a timestamp more than 300 seconds away is refused by receivers', () => {
  const current = newWebhookSecret();
  const now = Date.now();
  const old = sign({ current, previous: null }, now - 301_000);
  expect(verifyByContract({ headers: old, raw }, { secret: current, now })).toBe(false);
  expect(() => verifyByPackage(current, old)).toThrow('too old');
  const recent = sign({ current, previous: null }, now - 290_000);
  expect(verifyByContract({ headers: recent, raw }, { secret: current, now })).toBe(true);
  expect(verifyByPackage(current, recent)).toEqual(JSON.parse(body));
});

test('during a rotation both secrets are valid, and after it only the new one', () => {
  const [current, former] = [newWebhookSecret(), newWebhookSecret()];
  const now = Date.now();
  const during = sign({ current, previous: { secret: former, until: now + 1 } }, now);
  expect(during['x-causeway-signature']).toMatch(/^t=\d+,v1=[\da-f]{64},v1=[\da-f]{64}$/);
  expect(during['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
  for (const secret of [current, former]) {
    expect(verifyByContract({ headers: during, raw }, { secret, now })).toBe(true);
    expect(verifyByPackage(secret, during)).toEqual(JSON.parse(body));
  }
  const after = sign({ current, previous: { secret: former, until: now } }, now);
  expect(verifyByContract({ headers: after, raw }, { secret: current, now })).toBe(true);
  expect(verifyByContract({ headers: after, raw }, { secret: former, now })).toBe(false);
  expect(() => verifyByPackage(former, after)).toThrow('No matching signature');
});

test('both accept any signed JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const current = newWebhookSecret();
      const now = Date.now();
      const text = JSON.stringify(value);
      const secrets = { current, previous: null };
      const headers = lowerCase(signWebhook({ brand: 'causeway', eventId, body: text, secrets, now }));
      expect(verifyByContract({ headers, raw: Buffer.from(text) }, { secret: current, now })).toBe(true);
      new Webhook(current).verify(Buffer.from(text), headers);
    }),
  );
});
