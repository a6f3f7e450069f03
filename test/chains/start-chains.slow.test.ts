import { createServer } from 'node:http';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { startChains } from './start-chains.ts';

describe('both local chains', () => {
  const cleanUp: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    await Promise.all(cleanUp.splice(0).map((end) => end()));
  });

  it('come with the settings of a gateway that settles on them itself', async () => {
    const chains = await startChains();
    cleanUp.push(chains.stop);

    const { networks } = readConfig(chains.environment, null).x402;

    expect(networks).toEqual([
      {
        network: 'eip155:84532',
        asset: null,
        payTo: chains.base.seller.address,
        facilitator: {
          kind: 'local',
          rpcUrl: chains.base.rpcUrl,
          privateKey: chains.base.facilitator.privateKey,
        },
      },
      {
        network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
        asset: null,
        payTo: chains.solana.seller.address,
        facilitator: {
          kind: 'local',
          rpcUrl: chains.solana.rpcUrl,
          privateKey: chains.solana.facilitator.secretKeyBase58,
        },
      },
    ]);
  });

  it('run beside another pair without sharing anything', async () => {
    const [first, second] = await Promise.all([startChains(), startChains()]);
    cleanUp.push(first.stop, second.stop);
    await Promise.all([
      first.base.mint(first.base.buyer.address, 1n),
      first.solana.mint(first.solana.buyer.address, 1n),
    ]);
    expect([
      await second.base.balanceOf(second.base.buyer.address),
      await second.solana.balanceOf(second.solana.buyer.address),
    ]).toEqual([0n, 0n]);
  });

  it('can be stopped twice', async () => {
    const chains = await startChains();
    await chains.stop();
    await expect(chains.stop()).resolves.toBeUndefined();
  });

  it('do not start when one of their ports is taken', async () => {
    const occupant = createServer().listen(0, '127.0.0.1');
    await once(occupant, 'listening');
    cleanUp.push(() => once(occupant.close(), 'close'));
    const address = occupant.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    await expect(startChains({ basePort: port })).rejects.toThrow('EADDRINUSE');
    await expect(startChains({ solanaPort: port })).rejects.toThrow('EADDRINUSE');
  });
});
