import { generateKeyPair, randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { X402NetworkConfig } from '../x402-settings.ts';
import { ConfigError } from '../../kit/errors.ts';
import { syncToDisk } from '../../kit/sync-to-disk.ts';
import { addressProblem } from './address-problem.ts';
import { encodeBase58 } from '../solana/base58.ts';
import { requireNetwork, type NetworkFamily } from './networks.ts';
import type { PayableNetwork } from './payment-methods.ts';

const fileName = 'wallets.json';

const walletsSchema = z.object({
  evm: z.object({
    address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
    privateKey: z.string().regex(/^0x[0-9a-f]{64}$/),
  }),
  solana: z.object({
    address: z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/),
    /** Seed and public key, 64 bytes in base58, as wallets import it. */
    secretKey: z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/),
  }),
});

type Wallets = z.infer<typeof walletsSchema>;

const createEvmWallet = async (): Promise<Wallets['evm']> => {
  const { generatePrivateKey, privateKeyToAddress } = await import('viem/accounts');
  const privateKey = generatePrivateKey();
  return { address: privateKeyToAddress(privateKey), privateKey };
};

const createSolanaWallet = async (): Promise<Wallets['solana']> => {
  const { privateKey } = await promisify(generateKeyPair)('ed25519');
  const { d: seed, x: publicKey } = privateKey.export({ format: 'jwk' });
  if (seed === undefined || publicKey === undefined) throw new Error('an Ed25519 key has two halves');
  const address = Buffer.from(publicKey, 'base64url');
  const secretKey = Buffer.concat([Buffer.from(seed, 'base64url'), address]);
  return { address: encodeBase58(address), secretKey: encodeBase58(secretKey) };
};

const readWallets = async (path: string): Promise<Wallets | null> => {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  }
  try {
    return walletsSchema.parse(JSON.parse(text));
  } catch {
    // A new wallet in its place would orphan what the old one holds. The cause could show a key.
    throw new ConfigError(`DATA_DIR: ${fileName} cannot be read; restore it, or move it away`);
  }
};

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

/** Whole or not at all, for this user only, and never over another: false when there is one by now. */
const writeWallets = async (dataDir: string, wallets: Wallets): Promise<boolean> => {
  await mkdir(dataDir, { recursive: true });
  const temporary = join(dataDir, `.${fileName}.${randomUUID()}`);
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(wallets, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, join(dataDir, fileName));
    await syncToDisk(dataDir);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
};

type Addresses = Record<NetworkFamily, string>;

const addressesSchema = z.object({ evm: z.string(), solana: z.string() });
const addressesOf = ({ evm, solana }: Wallets): Addresses => ({ evm: evm.address, solana: solana.address });

const findOrCreate = async (dataDir: string): Promise<{ wallets: Wallets; isNew: boolean }> => {
  const path = join(dataDir, fileName);
  const existing = await readWallets(path);
  if (existing !== null) return { wallets: existing, isNew: false };
  const made = { evm: await createEvmWallet(), solana: await createSolanaWallet() };
  if (await writeWallets(dataDir, made)) return { wallets: made, isNew: true };
  const others = await readWallets(path);
  if (others === null) throw new ConfigError(`DATA_DIR: ${fileName} cannot be made`);
  return { wallets: others, isNew: false };
};

/**
 * The addresses that every process on one store offers: those of the first that asked. Only they are shared, as being
 * paid takes no key. The key is on the disk of its maker before anybody is told the address.
 */
const agreeOnAddresses = async (
  dataDir: string,
  agreeOn: (value: string) => Promise<string>,
): Promise<{ addresses: Addresses; hasKey: boolean }> => {
  const { wallets, isNew } = await findOrCreate(dataDir);
  const own = JSON.stringify(addressesOf(wallets));
  const agreed = await agreeOn(own);
  // Nobody was told of this wallet, and nobody ever will be.
  if (agreed !== own && isNew) await rm(join(dataDir, fileName), { force: true });
  return { addresses: addressesSchema.parse(JSON.parse(agreed)), hasKey: agreed === own };
};

export interface AssignedWallets {
  networks: PayableNetwork[];
  /** A sentence for the log that says where payments go; null when every wallet was configured. */
  notice: string | null;
}

const refuseWrongWallet = (network: string, payTo: string | null): void => {
  const { family } = requireNetwork(network);
  const problem = payTo === null ? null : addressProblem(family, payTo);
  if (problem !== null)
    throw new ConfigError(
      `X402_${family.toUpperCase()}_PAY_TO (or x402.networks.${network}.pay_to): ${payTo} ${problem}`,
    );
};

/**
 * Returns the networks with a wallet each. Those without one in the configuration (test networks only) get a wallet that
 * is generated into `dataDir` and kept; `agreeOn` stores the first value that any process gives it, and returns that.
 * Throws ConfigError when the file in `dataDir` is damaged, and for a wallet that cannot be right.
 */
export const assignWallets = async (options: {
  networks: readonly X402NetworkConfig[];
  dataDir: string;
  agreeOn: (value: string) => Promise<string>;
}): Promise<AssignedWallets> => {
  const { networks, dataDir, agreeOn } = options;
  for (const { network, payTo } of networks) refuseWrongWallet(network, payTo);
  if (networks.every(({ payTo }) => payTo !== null))
    return {
      networks: networks.flatMap((network) =>
        network.payTo === null ? [] : [{ ...network, payTo: network.payTo }],
      ),
      notice: null,
    };
  const { addresses, hasKey } = await agreeOnAddresses(dataDir, agreeOn);
  const assigned = networks.map((network) => {
    const { family, label } = requireNetwork(network.network);
    const isGenerated = network.payTo === null;
    return { ...network, payTo: network.payTo ?? addresses[family], label, isGenerated };
  });
  const places = assigned
    .filter(({ isGenerated }) => isGenerated)
    .map(({ label, payTo }) => `${label} to ${payTo}`);
  return {
    networks: assigned.map(({ label: _label, isGenerated: _isGenerated, ...network }) => network),
    notice:
      `No wallet is configured: payments with test money go on ${places.join(' and on ')}, ` +
      (hasKey
        ? `a wallet generated into ${join(dataDir, fileName)}. `
        : `a wallet that another gateway on this store generated; its key is in ${fileName} of that one's DATA_DIR. If this gateway ` +
          `made it and that file is gone, so is the key, unless there is a copy. `) +
      `Set X402_EVM_PAY_TO and X402_SOLANA_PAY_TO to be paid into your own.`,
  };
};
