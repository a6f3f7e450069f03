import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyPairSignerFromBytes } from '@solana/kit';
import { privateKeyToAddress } from 'viem/accounts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readConfig } from '../../../src/config/config.ts';
import { ConfigError } from '../../../src/kit/errors.ts';
import { decodeBase58 } from '../../../src/payments/chains/solana/base58.ts';
import { assignWallets } from '../../../src/payments/chains/generated-wallet.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-wallet-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const { networks } = readConfig({}, null).x402;
/** Keeps the first value, as the store does. */
const createStore = () => {
  let kept: string | null = null;
  return (value: string): Promise<string> => Promise.resolve((kept ??= value));
};
const assign = (agreeOn = createStore(), folder = dataDir) =>
  assignWallets({ networks, dataDir: folder, agreeOn });
const file = () => join(dataDir, 'wallets.json');
const keys = z.object({
  evm: z.object({ privateKey: z.templateLiteral(['0x', z.string()]) }),
  solana: z.object({ secretKey: z.string() }),
});

describe('a gateway without a wallet', () => {
  it('makes one, with a key for each address, that only its user may read', async () => {
    const { networks: assigned, notice } = await assign();
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
    const first = await assign();
    expect(await assign()).toEqual(first);
  });

  it('makes one even when several processes start at once', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => assign()));
    for (const assigned of all) expect(assigned).toEqual(all[0]);
    expect(await readdir(dataDir)).toEqual(['wallets.json']);
  });

  it('does not replace one that it cannot read', async () => {
    await writeFile(file(), '{"evm":');
    await expect(assign()).rejects.toBeInstanceOf(ConfigError);
    expect(await readFile(file(), 'utf8')).toBe('{"evm":');
  });
});

describe.each(testEngines())('several gateways on one $kind without a wallet', ({ create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());
  /** As one more process does it. */
  const agreeOn = async (value: string): Promise<string> =>
    (await data.openAnother()).getOrCreateSecret({ name: 'wallet', value });
  const folders = () => ['a', 'b', 'c'].map((name) => join(dataDir, name));

  it('offer one, whose key is in the folder of the one that made it', async () => {
    const all = await Promise.all(folders().map((folder) => assign(agreeOn, folder)));
    for (const { networks: assigned } of all) expect(assigned).toEqual(all[0]?.networks);
    const files = await Promise.all(folders().map((folder) => readdir(folder)));
    expect(files.filter((names) => names.includes('wallets.json'))).toHaveLength(1);
    const maker = files.findIndex((names) => names.includes('wallets.json'));
    for (const [index, { notice }] of all.entries())
      expect(notice).toContain(
        index === maker ? join(folders()[maker] ?? '', 'wallets.json') : 'another gateway on this store',
      );
    for (const folder of folders())
      expect((await assign(agreeOn, folder)).networks).toEqual(all[0]?.networks);
  });

  it('say that the key may be gone with the folder of the one that made it', async () => {
    const [first] = folders();
    const before = await assign(agreeOn, first);
    await rm(first ?? '', { recursive: true });
    const after = await assign(agreeOn, first);
    expect(after.networks).toEqual(before.networks);
    expect(after.notice).toMatch(
      /that file is gone, so is the key.* Set X402_EVM_PAY_TO and X402_SOLANA_PAY_TO/,
    );
  });

  it('offer the one that was in a folder before, and remove no file that they did not make', async () => {
    const [first, second] = folders();
    const before = await assign(createStore(), first);
    const other = await assign(createStore(), second);
    expect(await assign(agreeOn, first)).toEqual(before);
    expect((await assign(agreeOn, second)).networks).toEqual(before.networks);
    expect((await assign(createStore(), second)).networks).toEqual(other.networks);
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
    expect(await assignWallets({ networks: configured, dataDir, agreeOn: createStore() })).toEqual({
      networks: configured,
      notice: null,
    });
    expect(await readdir(dataDir)).toEqual([]);
  });
});
