import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { clientAddress } from '../../src/gateway/client-address.ts';

const request = (forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress: '10.0.0.1' },
    headers: { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

describe("the client's address", () => {
  it('is the socket address when no proxy is trusted, whatever the header says', () => {
    expect(clientAddress(request('1.2.3.4'), 0)).toBe('10.0.0.1');
  });

  it('is the entry that the last trusted proxy wrote', () => {
    expect(clientAddress(request('6.6.6.6, 1.2.3.4'), 1)).toBe('1.2.3.4');
    expect(clientAddress(request('6.6.6.6, 1.2.3.4:5001'), 1)).toBe('1.2.3.4');
    expect(clientAddress(request('[2001:db8::9]:5002'), 1)).toBe('2001:db8::9');
    expect(clientAddress(request('2001:db8::9'), 1)).toBe('2001:db8::9');
    expect(clientAddress(request('6.6.6.6, 1.2.3.4, 10.0.0.2'), 2)).toBe('1.2.3.4');
  });

  it('is the farthest known address when there are fewer entries than trusted proxies', () => {
    expect(clientAddress(request(undefined), 2)).toBe('10.0.0.1');
    expect(clientAddress(request('1.2.3.4'), 3)).toBe('1.2.3.4');
  });
});
