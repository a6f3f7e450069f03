import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../e2e/start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway?.stop());

const call = (path: string, method: string, headers: Record<string, string> = {}): Promise<Response> =>
  gateway.call(path, { apiKey: null, method, headers: { origin: 'https://shop.example', ...headers } });

describe('a page of another origin', () => {
  it('may read the terms of a search', async () => {
    const response = await call('/v1/search', 'GET');
    expect(response.status).toBe(402);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-expose-headers')?.split(', ')).toEqual(
      expect.arrayContaining(['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE', 'X-PAYMENT-RESPONSE', 'Retry-After']),
    );
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('may send a payment, of either version, when its browser asks before', async () => {
    const response = await call('/v1/search?limit=3', 'OPTIONS', {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'payment-signature',
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('access-control-allow-methods')).toBe('GET');
    const allowed = response.headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
    // x402-fetch sends the third as a header of its request.
    expect(allowed).toEqual(
      expect.arrayContaining(['payment-signature', 'x-payment', 'access-control-expose-headers']),
    );
    expect(await response.text()).toBe('');
  });

  it('may read why a search was refused', async () => {
    const response = await call('/v1/search?limit=0', 'GET');
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([422, '*']);
  });

  it.each(['/v1/balance', '/v1/chat/completions', '/mcp'])('may not call %s', async (path) => {
    const preflight = await call(path, 'OPTIONS', {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBeNull();
    expect(preflight.status).toBeGreaterThanOrEqual(400);
  });
});

describe('a wallet in a page of another origin, where wallets have accounts', () => {
  it('may send JSON and an idempotency key, and read what a call cost', async () => {
    const walletGateway = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on' } });
    try {
      const namesOf = async (path: string, method: string, kind: 'allow' | 'expose'): Promise<string[]> => {
        const response = await walletGateway.call(path, { apiKey: null, method });
        return (response.headers.get(`access-control-${kind}-headers`) ?? '').toLowerCase().split(', ');
      };
      expect(await namesOf('/v1/chat/completions', 'OPTIONS', 'allow')).toEqual(
        expect.arrayContaining(['content-type', 'idempotency-key', 'payment-signature']),
      );
      expect(await namesOf('/v1/chat/completions', 'POST', 'expose')).toEqual(
        expect.arrayContaining(['www-authenticate', 'x-causeway-charge-usd', 'x-causeway-sandbox']),
      );
      expect(await namesOf('/v1/search', 'OPTIONS', 'allow')).not.toContain('content-type');
    } finally {
      await walletGateway.stop();
    }
  });

  it('may send an idempotency key with a search from the balance, and read what it cost', async () => {
    const environment = { WALLET_ACCOUNTS: 'on', SEARCH_FROM_BALANCE: 'on' };
    const walletGateway = await startTestGateway({ environment });
    try {
      const asked = await walletGateway.call('/v1/search', { apiKey: null, method: 'OPTIONS' });
      expect(asked.headers.get('access-control-allow-headers')).toMatch(/Idempotency-Key/);
      const answered = await walletGateway.call('/v1/search', { apiKey: null });
      expect(answered.headers.get('access-control-expose-headers')).toMatch(/Charge-Usd/i);
    } finally {
      await walletGateway.stop();
    }
  });
});
