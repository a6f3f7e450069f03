import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { X402NetworkConfig } from '../x402-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import { ignoreEnoent, syncToDisk } from '../../kit/files.ts';
import { networkFamilies, requireNetwork } from './networks.ts';
import type { PayableNetwork } from './payment-methods.ts';

const fileName = 'wallets.json';

const walletsSchema = z.object(
  Object.fromEntries(networkFamilies.map(({ name, walletSchema }) => [name, walletSchema])),
);

type Wallets = z.infer<typeof walletsSchema>;

const createWallets = async (): Promise<Wallets> => {
  const made: Wallets = {};
  for (const { name, createWallet } of networkFamilies) made[name] = await createWallet();
  return made;
};

const readWallets = async (path: string): Promise<Wallets | null> => {
  const text = await ignoreEnoent(readFile(path, 'utf8'));
  if (text === null) return null;
  try {
    return walletsSchema.parse(JSON.parse(text));
  } catch {
    // A new wallet in its place would orphan what the old one holds. The cause could show a key.
    throw new ConfigError(`DATA_DIR: ${fileName} cannot be read; restore it, or move it away`);
  }
};

/** Writes the file whole or not at all, for this user only. Returns false when there is one already, and keeps that. */
const writeWallets = async (dataDir: string, wallets: Wallets): Promise<boolean> => {
  await mkdir(dataDir, { recursive: true });
  const temporary = join(dataDir, `.${fileName}.${randomUUID()}`);
  const text = `${JSON.stringify(wallets, null, 2)}\n`;
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: 0o600, flush: true });
    await link(temporary, join(dataDir, fileName));
    await syncToDisk(dataDir);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
};

const addressesSchema = z.record(z.string(), z.string());

const findOrCreate = async (dataDir: string): Promise<{ wallets: Wallets; isNew: boolean }> => {
  const path = join(dataDir, fileName);
  const existing = await readWallets(path);
  if (existing !== null) return { wallets: existing, isNew: false };
  const made = await createWallets();
  if (await writeWallets(dataDir, made)) return { wallets: made, isNew: true };
  const others = await readWallets(path);
  if (others === null) throw new ConfigError(`DATA_DIR: ${fileName} cannot be made`);
  return { wallets: others, isNew: false };
};

/**
 * Agrees on the addresses that every process on one store offers: those of the first process that asked. Only addresses
 * are shared, as being paid takes no key. The key is on the disk of its process before an address is offered.
 */
const agreeOnAddresses = async (
  dataDir: string,
  agreeOn: (value: string) => Promise<string>,
): Promise<{ addresses: Record<string, string>; hasKey: boolean }> => {
  const { wallets, isNew } = await findOrCreate(dataDir);
  const own = JSON.stringify(
    Object.fromEntries(Object.entries(wallets).map(([name, { address }]) => [name, address])),
  );
  const agreed = await agreeOn(own);
  // This wallet was never offered, and never will be.
  if (agreed !== own && isNew) await rm(join(dataDir, fileName), { force: true });
  return { addresses: addressesSchema.parse(JSON.parse(agreed)), hasKey: agreed === own };
};

const checkWallet = ({ network, payTo }: X402NetworkConfig): void => {
  const { family } = requireNetwork(network);
  const problem = payTo === null ? null : family.addressProblem(payTo);
  if (problem !== null)
    throw new ConfigError(
      `${family.settingPrefix}_PAY_TO (or x402.networks.${network}.pay_to): ${payTo} ${problem}`,
    );
};

/**
 * Returns the networks with a wallet each. A network without one in the configuration (test networks only) gets a
 * wallet that is generated into `dataDir` and kept. `agreeOn` stores the first value that any process passes, and
 * returns the stored value. `notice` is a sentence for the log about where payments go; null when every wallet was
 * configured. Throws ConfigError when the file in `dataDir` is damaged, and for a wallet that cannot be
 * right.
 */
export const assignWallets = async (options: {
  networks: readonly X402NetworkConfig[];
  dataDir: string;
  agreeOn: (value: string) => Promise<string>;
}): Promise<{ networks: PayableNetwork[]; notice: string | null }> => {
  const { networks, dataDir, agreeOn } = options;
  networks.forEach(checkWallet);
  const missing = networks.filter(({ payTo }) => payTo === null);
  const { addresses, hasKey } =
    missing.length === 0 ? { addresses: {}, hasKey: true } : await agreeOnAddresses(dataDir, agreeOn);
  const payToOf = ({ network, payTo }: X402NetworkConfig): string => {
    const { family } = requireNetwork(network);
    const wallet = payTo ?? addresses[family.name];
    if (wallet === undefined) throw new ConfigError(`${family.settingPrefix}_PAY_TO: must name your wallet`);
    return wallet;
  };
  const assigned = networks.map((network) => ({ ...network, payTo: payToOf(network) }));
  if (missing.length === 0) return { networks: assigned, notice: null };
  const routes = missing.map((network) => `${requireNetwork(network.network).label} to ${payToOf(network)}`);
  return {
    networks: assigned,
    notice:
      `No wallet is configured: payments with test money go on ${routes.join(' and on ')}, ` +
      (hasKey
        ? `a wallet generated into ${join(dataDir, fileName)}. `
        : `a wallet that another gateway on this store generated; its key is in ${fileName} of that one's DATA_DIR. If this gateway ` +
          `made it and that file is gone, so is the key, unless there is a copy. `) +
      `Set ${networkFamilies.map(({ settingPrefix }) => `${settingPrefix}_PAY_TO`).join(' and ')} to be paid into your own.`,
  };
};
