import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyPairSignerFromBytes } from '@solana/kit';
import { privateKeyToAddress } from 'viem/accounts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../../src/config.ts';
import { ConfigError } from '../../src/errors.ts';
import { decodeBase58 } from '../../src/payments/base58.ts';
import { assignWallets } from '../../src/payments/generated-wallet.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-wallet-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const { networks } = readConfig({}, null).x402;
const file = () => join(dataDir, 'wallets.json');
const keys = z.object({
  evm: z.object({ privateKey: z.templateLiteral(['0x', z.string()]) }),
  solana: z.object({ secretKey: z.string() }),
});

describe('a gateway without a wallet', () => {
  it('makes one, with a key for each address, that only its user may read', async () => {
    const { networks: assigned, notice } = await assignWallets({ networks, dataDir });
    const stored = keys.parse(JSON.parse(await readFile(file(), 'utf8')));
    const solana = await createKeyPairSignerFromBytes(
      decodeBase58(stored.solana.secretKey) ?? new Uint8Array(),
    );
    expect(assigned.map(({ payTo }) => payTo)).toEqual([
      privateKeyToAddress(stored.evm.privateKey),
      solana.address,
    ]);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(await readdir(dataDir)).toEqual(['wallets.json']);
    for (const { payTo } of assigned) expect(notice).toContain(payTo);
    expect(notice).not.toContain(stored.evm.privateKey);
    expect(notice).not.toContain(stored.solana.secretKey);
  });

  it('keeps it', async () => {
    const first = await assignWallets({ networks, dataDir });
    expect(await assignWallets({ networks, dataDir })).toEqual(first);
  });

  it('makes one even when several processes start at once', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => assignWallets({ networks, dataDir })));
    for (const assigned of all) expect(assigned).toEqual(all[0]);
    expect(await readdir(dataDir)).toEqual(['wallets.json']);
  });

  it('does not replace one that it cannot read', async () => {
    await writeFile(file(), '{"evm":');
    await expect(assignWallets({ networks, dataDir })).rejects.toBeInstanceOf(ConfigError);
    expect(await readFile(file(), 'utf8')).toBe('{"evm":');
  });
});

describe('a gateway whose wallets are configured', () => {
  it('makes none', async () => {
    const configured = networks.map((network) => ({
      ...network,
      payTo: network.network.startsWith('eip155:')
        ? '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
        : '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
    }));
    expect(await assignWallets({ networks: configured, dataDir })).toEqual({
      networks: configured,
      notice: null,
    });
    expect(await readdir(dataDir)).toEqual([]);
  });
});
