import { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { parseUsd, type Nano } from '../kit/money.ts';
import { unknownKey } from '../kit/unknown-key.ts';
import { nodeUrl, plainUrl, withoutTrailingSlash } from './url-settings.ts';

export interface X402Config {
  /** None: nothing is sold for x402 payments. */
  networks: X402NetworkConfig[];
  /** Whether the networks are main networks; main and test networks are never mixed. */
  takesRealMoney: boolean;
  /** The longest `PAYMENT-REQUIRED`. */
  headerBytes: number;
  /** How long a settlement may take, waiting for the chain included. */
  settleMs: number;
  /** What payments of one network may come to that are settled by a facilitator's word alone. */
  uncheckedLimit: Nano;
  /** The keys that an operator's refunds are signed with. The server does not use them. */
  refundKeys: RefundKeys;
}

/** By the names of the networks' families; null for a key that is not set. */
export type RefundKeys = Readonly<Record<string, string | null>>;

export interface X402NetworkConfig {
  /** CAIP-2, one of the networks known to src/payments/core/networks.ts. */
  network: string;
  /** The seller's wallet; null: one is generated into `dataDir` (test networks only). */
  payTo: string | null;
  facilitator: FacilitatorConfig;
  /** Another token than the network's own USDC; null: that. */
  asset: AssetConfig | null;
}

/** A token that is taken as payment, one token being one USD. */
export interface AssetConfig {
  symbol: string;
  /** EVM: the contract. Solana: the mint. */
  address: string;
  decimals: number;
  /** The domain that the token's holders sign under; null on Solana, and for a token that signs nothing itself. */
  eip712: { name: string; version: string } | null;
  /** Null on Solana. */
  transfer: 'eip3009' | 'permit2' | null;
}

export type FacilitatorConfig =
  | { kind: 'local'; rpcUrl: string; privateKey: string }
  /**
   * In order of preference, at least one. `rpcUrl`: the chain, asked what became of a settlement that the facilitator
   * left open; null: the public one.
   */
  | { kind: 'remote'; endpoints: FacilitatorEndpoint[]; rpcUrl: string | null };

/** A facilitator of somebody else. */
export interface FacilitatorEndpoint {
  /** Without a trailing slash. */
  url: string;
  /** The key that signs requests to Coinbase's platform; null for a facilitator that asks for none. */
  cdpKey: CdpKey | null;
}

/** A secret API key of Coinbase's developer platform. */
export interface CdpKey {
  id: string;
  /** Ed25519: base64 of 64 bytes. ES256: a PEM private key. */
  secret: string;
}

const publicTestFacilitator = 'https://x402.org/facilitator';
const cdpHost = 'api.cdp.coinbase.com';
const baseSepolia = 'eip155:84532';
const solanaDevnet = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
const mainNetworks = new Set([
  'eip155:8453',
  'eip155:1',
  'eip155:56',
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
]);
const maxFacilitators = 8;
/** With all other headers of a 402 it stays below 4 KB, which is all that common proxies take unless told otherwise. */
export const defaultHeaderBytes = 3_200;

const evmAddress = z.string().regex(/^0x[0-9a-fA-F]{40}$/, 'must be an EVM address');
const evmKey = z.string().regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits');
const solanaAddress = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, 'must be a Solana address');
const solanaKey = z
  .string()
  .regex(/^[1-9A-HJ-NP-Za-km-z]{80,90}$/, 'must be a base58 secret key of 64 bytes');

/** The environment variables of payments. */
export const x402Environment = {
  X402_NETWORKS: z
    .string()
    .transform((text) => (text === 'none' ? [] : text.split(',').map((part) => part.trim())))
    .pipe(
      z.array(z.string().regex(/^(eip155|solana):\w+$/, 'must be CAIP-2 names divided by commas, or none')),
    )
    .default([baseSepolia, solanaDevnet]),
  X402_FACILITATOR_URL: z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(plainUrl).min(1).max(maxFacilitators, `must be at most ${maxFacilitators} URLs`))
    .refine((urls) => new Set(urls).size === urls.length, 'names a facilitator twice')
    .optional(),
  X402_HEADER_BYTES: z
    .string()
    .regex(/^\d{4,5}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(1_000).max(14_000))
    .default(defaultHeaderBytes),
  X402_SETTLE_MS: z
    .string()
    .regex(/^\d{4,6}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(1_000).max(240_000))
    .default(30_000),
  X402_UNCHECKED_USD: z
    .string()
    .regex(/^\d{1,6}(?:\.\d{1,6})?$/, 'must be an amount such as 5.00')
    .transform(parseUsd)
    .default(0n),
  X402_CDP_API_KEY_ID: z.string().min(1).max(512).optional(),
  X402_CDP_API_KEY_SECRET: z.string().min(1).max(4_096).optional(),
  X402_EVM_PAY_TO: evmAddress.optional(),
  X402_EVM_RPC_URL: nodeUrl.optional(),
  X402_EVM_FACILITATOR_KEY: evmKey.optional(),
  X402_EVM_REFUND_KEY: evmKey.optional(),
  X402_SOLANA_PAY_TO: solanaAddress.optional(),
  X402_SOLANA_RPC_URL: nodeUrl.optional(),
  X402_SOLANA_FACILITATOR_KEY: solanaKey.optional(),
  X402_SOLANA_REFUND_KEY: solanaKey.optional(),
};

const environmentSchema = z.object(x402Environment);

type Environment = z.infer<typeof environmentSchema>;

/** Prices are whole tenths of a cent; the store keeps amounts of at most 18 decimals. */
const decimals = z.int().min(3).max(18);
const symbol = z.string().regex(/^[A-Za-z0-9.]{1,12}$/, 'must be a token symbol');

const shared = {
  rpc_url: nodeUrl.optional(),
  facilitator: z.enum(['local', 'remote']).optional(),
};
const evmNetwork = z.strictObject({
  ...shared,
  pay_to: evmAddress.optional(),
  asset: z
    .strictObject({
      symbol,
      address: evmAddress,
      decimals,
      transfer: z.enum(['eip3009', 'permit2']).default('eip3009'),
      eip712: z
        .strictObject({ name: z.string().min(1).max(64), version: z.string().min(1).max(16) })
        .optional(),
    })
    .refine(({ transfer, eip712 }) => transfer === 'permit2' || eip712 !== undefined, {
      message: 'must be set for a token that is transferred by eip3009',
      path: ['eip712'],
    })
    .transform((asset) => ({ ...asset, eip712: asset.eip712 ?? null }))
    .optional(),
});
const solanaNetwork = z.strictObject({
  ...shared,
  pay_to: solanaAddress.optional(),
  asset: z
    .strictObject({ symbol, address: solanaAddress, decimals })
    .transform((asset) => ({ ...asset, eip712: null, transfer: null }))
    .optional(),
});

type NetworkSettings = z.infer<typeof evmNetwork> | z.infer<typeof solanaNetwork>;

/** The section `x402` of causeway.yaml. */
export const x402FileSchema = z
  .strictObject({
    networks: z
      .record(z.string(), z.unknown())
      .default({})
      .transform((networks, context) => {
        const read: Record<string, NetworkSettings> = {};
        for (const [id, settings] of Object.entries(networks)) {
          const schema = id.startsWith('solana:') ? solanaNetwork : evmNetwork;
          const parsed = schema.safeParse(settings, { error: unknownKey });
          if (parsed.success) read[id] = parsed.data;
          else
            for (const { message, path } of parsed.error.issues)
              context.addIssue({ code: 'custom', message, path: [id, ...path] });
        }
        return read;
      }),
  })
  .default({ networks: {} });

type FileSettings = z.infer<typeof x402FileSchema>;
type Family = 'EVM' | 'SOLANA';

const familyOf = (network: string): Family => (network.startsWith('eip155:') ? 'EVM' : 'SOLANA');
const settingOf = (network: string, name: string): string => `x402.networks.${network}.${name}`;

const isCdp = (url: string): boolean => new URL(url).hostname === cdpHost;

const readCdpKey = ({
  X402_CDP_API_KEY_ID: id,
  X402_CDP_API_KEY_SECRET: secret,
}: Environment): CdpKey | null => {
  if (id === undefined && secret === undefined) return null;
  if (id === undefined)
    throw new ConfigError('X402_CDP_API_KEY_ID: must be set beside X402_CDP_API_KEY_SECRET');
  if (secret === undefined)
    throw new ConfigError('X402_CDP_API_KEY_SECRET: must be set beside X402_CDP_API_KEY_ID');
  return { id, secret };
};

/** The facilitators that were named; none when none was. The key goes to Coinbase's own host, and to it alone. */
const readEndpoints = (env: Environment): FacilitatorEndpoint[] => {
  const cdpKey = readCdpKey(env);
  const urls = env.X402_FACILITATOR_URL ?? [];
  const cdpUrls = urls.filter(isCdp);
  if (cdpUrls.some((url) => new URL(url).origin !== `https://${cdpHost}`))
    throw new ConfigError(`X402_FACILITATOR_URL: ${cdpHost} is reached by https:// on its usual port only`);
  if (cdpKey !== null && cdpUrls.length === 0)
    throw new ConfigError(`X402_CDP_API_KEY_ID: goes with an X402_FACILITATOR_URL at https://${cdpHost}`);
  if (cdpKey === null && cdpUrls.length > 0)
    throw new ConfigError(
      `X402_CDP_API_KEY_ID: must be set, with X402_CDP_API_KEY_SECRET, for the facilitator at ${cdpHost}`,
    );
  return urls.map((url) => ({ url: withoutTrailingSlash(url), cdpKey: isCdp(url) ? cdpKey : null }));
};

/** The node of each network: its own, or the one of X402_..._RPC_URL, which can be that of one network only. */
const readRpcUrls = (env: Environment, file: FileSettings): Map<string, string> => {
  const urls = new Map<string, string>();
  for (const family of ['EVM', 'SOLANA'] as const) {
    const name = `X402_${family}_RPC_URL` as const;
    const networks = env.X402_NETWORKS.filter((network) => familyOf(network) === family);
    const open = networks.filter((network) => file.networks[network]?.rpc_url === undefined);
    const fallback = env[name];
    if (fallback !== undefined && open.length > 1)
      throw new ConfigError(
        `${name}: cannot be the node of ${open.join(' and ')}; set ${settingOf(open[0] ?? '', 'rpc_url')} in causeway.yaml`,
      );
    for (const network of networks) {
      const url = file.networks[network]?.rpc_url ?? fallback;
      if (url !== undefined) urls.set(network, url);
    }
  }
  return urls;
};

interface FacilitatorSources {
  env: Environment;
  endpoints: FacilitatorEndpoint[];
  settings: NetworkSettings | undefined;
  rpcUrl: string | null;
}

const readLocal = (
  network: string,
  { env, settings, rpcUrl }: FacilitatorSources,
): FacilitatorConfig | null => {
  const family = familyOf(network);
  const keyName = `X402_${family}_FACILITATOR_KEY` as const;
  const privateKey = env[keyName];
  if (settings?.facilitator === 'remote') return null;
  if (privateKey !== undefined && rpcUrl !== null) return { kind: 'local', rpcUrl, privateKey };
  if (settings?.facilitator !== 'local') return null;
  if (privateKey === undefined)
    throw new ConfigError(`${keyName}: must be set for ${settingOf(network, 'facilitator')}: local`);
  throw new ConfigError(
    `causeway.yaml: ${settingOf(network, 'rpc_url')}: must be set for facilitator: local (or X402_${family}_RPC_URL)`,
  );
};

const readRemote = (network: string, { env, endpoints, rpcUrl }: FacilitatorSources): FacilitatorConfig => {
  if (mainNetworks.has(network) && endpoints.length === 0) {
    const keyName = `X402_${familyOf(network)}_FACILITATOR_KEY` as const;
    const other = env[keyName] === undefined ? keyName : settingOf(network, 'rpc_url');
    throw new ConfigError(`X402_FACILITATOR_URL: must be set (or ${other}) for ${network}`);
  }
  const known = endpoints.length > 0 ? endpoints : [{ url: publicTestFacilitator, cdpKey: null }];
  return { kind: 'remote', endpoints: known, rpcUrl };
};

/** A key that nothing is settled with is a mistake: the operator believes that it is used. */
const refuseIdleKeys = (
  env: Environment,
  { file, rpcUrls }: { file: FileSettings; rpcUrls: Map<string, string> },
): void => {
  for (const family of ['EVM', 'SOLANA'] as const) {
    const keyName = `X402_${family}_FACILITATOR_KEY` as const;
    const networks = env.X402_NETWORKS.filter((network) => familyOf(network) === family);
    if (env[keyName] === undefined || networks.length === 0) continue;
    const willing = networks.filter((network) => file.networks[network]?.facilitator !== 'remote');
    if (willing.length === 0)
      throw new ConfigError(
        `${keyName}: is used by no network; each has facilitator: remote in causeway.yaml`,
      );
    if (!willing.some((network) => rpcUrls.has(network)))
      throw new ConfigError(`X402_${family}_RPC_URL: must be set beside ${keyName}`);
  }
};

/** Throws ConfigError with one line that names the setting. */
export const readX402 = (env: Environment, file: FileSettings): X402Config => {
  const { X402_NETWORKS: names } = env;
  if (new Set(names).size < names.length) throw new ConfigError('X402_NETWORKS: names a network twice');
  const mainCount = names.filter((name) => mainNetworks.has(name)).length;
  if (mainCount > 0 && mainCount < names.length)
    throw new ConfigError(
      'X402_NETWORKS: names main and test networks; test money, which costs nothing, would buy the same',
    );
  const stray = Object.keys(file.networks).find((network) => !names.includes(network));
  if (stray !== undefined)
    throw new ConfigError(`causeway.yaml: x402.networks.${stray}: X402_NETWORKS does not name it`);
  const endpoints = readEndpoints(env);
  const rpcUrls = readRpcUrls(env, file);
  refuseIdleKeys(env, { file, rpcUrls });
  const networks = names.map((network): X402NetworkConfig => {
    const settings = file.networks[network];
    const family = familyOf(network);
    const payTo = settings?.pay_to ?? env[`X402_${family}_PAY_TO`] ?? null;
    if (mainNetworks.has(network) && payTo === null)
      throw new ConfigError(`X402_${family}_PAY_TO: must name your wallet, as ${network} is a main network`);
    const sources = { env, endpoints, settings, rpcUrl: rpcUrls.get(network) ?? null };
    return {
      network,
      payTo,
      facilitator: readLocal(network, sources) ?? readRemote(network, sources),
      asset: settings?.asset ?? null,
    };
  });
  return {
    networks,
    takesRealMoney: mainCount > 0,
    headerBytes: env.X402_HEADER_BYTES,
    settleMs: env.X402_SETTLE_MS,
    uncheckedLimit: env.X402_UNCHECKED_USD,
    refundKeys: { evm: env.X402_EVM_REFUND_KEY ?? null, solana: env.X402_SOLANA_REFUND_KEY ?? null },
  };
};
