import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { followDatabase } from '../../../../src/leads/postgres/read/follow-database.ts';
import { waitUntil } from '../lead-database.ts';

describe('following a database that is away', () => {
  it('tells of each cause once', async () => {
    let refused = 0;
    const server = createServer((socket) => {
      refused += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address() as AddressInfo;
    const told: string[] = [];
    const followed = followDatabase({
      database: { url: `postgres://nobody@127.0.0.1:${address.port}/none`, schema: 'none' },
      connections: 1,
      statementTimeoutMs: 1_000,
      lookEveryMs: 1,
      onServing: () => undefined,
      onForgotten: () => undefined,
      onUnanswering: (cause) => told.push(String(cause)),
      onConnectionBroken: () => undefined,
    });
    await waitUntil(() => refused > 20);
    server.close();
    // A connection that is cut off is told of in one way or another, depending on how far it came.
    await waitUntil(() => told.some((cause) => cause.includes('ECONNREFUSED')));
    await followed.close();
    expect(told.length).toBeGreaterThan(1);
    expect(told).toEqual([...new Set(told)]);
  });
});
