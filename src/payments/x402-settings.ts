import { z } from 'zod';
import {
  commaList,
  nodeUrl,
  plainUrl,
  secret,
  toggle,
  type VariableValues,
  wholeNumber,
} from '../kit/settings.ts';
import type { FamilyVariable, NetworkFamily, PaymentAsset } from './chains/core/network-family.ts';
import { findFamily, networkFamilies } from './chains/networks.ts';
import type { Dialect } from './wire/dialect.ts';
import { mpp } from './wire/mpp.ts';

export interface X402NetworkConfig {
  /** CAIP-2, one of the networks known to src/payments/chains/networks.ts. */
  network: string;
  /** The seller's wallet; null: one is generated into `dataDir` (test networks only). */
  payTo: string | null;
  facilitator: FacilitatorConfig;
  /** Another token than the network's own USDC; null: that. */
  asset: PaymentAsset | null;
}

export type FacilitatorConfig =
  | { kind: 'local'; rpcUrl: string; privateKey: string }
  /**
   * Facilitators in order of preference, at least one. `rpcUrl`: the node that is asked for the outcome of a settlement
   * that the facilitator left open; null: the public node.
   */
  | { kind: 'remote'; endpoints: FacilitatorEndpoint[]; rpcUrl: string | null };

export interface FacilitatorEndpoint {
  /** Without a trailing slash. */
  url: string;
  /** The key that signs requests to Coinbase's platform; null for a facilitator that asks for none. */
  cdpKey: CdpKey | null;
}

export interface CdpKey {
  id: string;
  /** Ed25519: base64 of 64 bytes. ES256: a PEM private key. */
  secret: string;
}

const maxFacilitators = 8;
/** With all other headers of a 402 it stays below 4 KB, the limit of common proxies. */
export const defaultHeaderBytes = 3_200;

const namespaces = networkFamilies.map(({ namespace }) => namespace).join('|');

type FamilyVariables = Record<`X402_${string}_${FamilyVariable}`, z.ZodOptional<z.ZodType<string>>>;

const familyVariables: FamilyVariables = Object.fromEntries(
  networkFamilies.flatMap(({ settingPrefix, variables }) =>
    Object.entries(variables).map(([name, schema]) => [`${settingPrefix}_${name}`, schema]),
  ),
);

/** Every dialect that can be switched on. */
export const dialects = [mpp] as const satisfies readonly Dialect[];

type DialectVariable = (typeof dialects)[number]['setting'];

const dialectVariables = Object.fromEntries(
  dialects.map(({ setting, settingText }) => [setting, toggle('on', 'off', 'off').describe(settingText)]),
) as Record<DialectVariable, ReturnType<typeof toggle>>;

const generalVariables = {
  X402_NETWORKS: commaList
    .transform((names) => (names.join() === 'none' ? [] : names))
    .pipe(
      z.array(
        z
          .string()
          .regex(new RegExp(`^(${namespaces}):\\w+$`), 'must be CAIP-2 names divided by commas, or none'),
      ),
    )
    .refine((names) => new Set(names).size === names.length, 'names a network twice')
    .prefault('eip155:84532,solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1')
    .describe('[networks](#the-payment-networks), divided by commas; `none` switches the search off'),
  X402_FACILITATOR_URL: commaList
    .pipe(z.array(plainUrl).min(1).max(maxFacilitators, `must be at most ${maxFacilitators} URLs`))
    .refine((urls) => new Set(urls).size === urls.length, 'names a facilitator twice')
    .optional()
    .describe(
      `up to ${maxFacilitators} remote facilitators by preference, divided by commas; buyers see their ` +
        'addresses; by default the public test one',
    ),
  X402_CDP_API_KEY_ID: z
    .string()
    .max(512)
    .optional()
    .describe('key for a facilitator at `https://api.cdp.coinbase.com`'),
  X402_CDP_API_KEY_SECRET: secret(z.string().max(4_096))
    .optional()
    .describe('its secret, sent to that host alone'),
  X402_HEADER_BYTES: wholeNumber(1_000, 14_000, defaultHeaderBytes).describe(
    'longest `PAYMENT-REQUIRED` header; see [Behind a proxy](operators.md#behind-a-proxy)',
  ),
  X402_SETTLE_MS: wholeNumber(1_000, 240_000, 30_000).describe(
    'how long a settlement may take; then it is `payment_pending`',
  ),
};

export const x402Variables = Object.assign(generalVariables, familyVariables, dialectVariables);

/** The variables whose values are secret, and may stand in files. */
export const x402SecretNames = [
  ...(['FACILITATOR_KEY', 'REFUND_KEY'] as const).flatMap((name) =>
    networkFamilies.map(({ settingPrefix }) => `${settingPrefix}_${name}`),
  ),
  'X402_CDP_API_KEY_SECRET',
];

export type X402Values = VariableValues<typeof x402Variables>;

const assetSection = z.strictObject({
  symbol: z.string().regex(/^[A-Za-z0-9.]{1,12}$/, 'must be a token symbol'),
  address: z.string().describe('its contract, or its mint on Solana'),
  // Prices are whole tenths of a cent; the store keeps amounts of at most 18 decimals.
  decimals: z.int().min(3).max(18).describe('3 to 18'),
  transfer: z
    .enum(['eip3009', 'permit2'])
    .optional()
    .describe('EVM only: `eip3009` when unset, or `permit2` for a token without ERC-3009'),
  eip712: z
    .strictObject({
      name: z.string().min(1).max(64),
      version: z.string().min(1).max(16),
    })
    .optional()
    .describe('EVM only: `name` and `version` of the token’s own signing domain; needed for `eip3009`'),
});

const networkSection = z.strictObject({
  rpc_url: nodeUrl.optional().describe('node of this network'),
  facilitator: z
    .enum(['local', 'remote'])
    .optional()
    .describe('who settles; `local` when unset and a key and a node are there'),
  pay_to: z.string().optional().describe('wallet for payments on this network'),
  asset: assetSection.optional().describe('another token worth one USD, in place of USDC, with its `symbol`'),
});
export type NetworkSection = z.output<typeof networkSection>;

const checkByFamily = (
  { pay_to: payTo, asset }: NetworkSection,
  family: NetworkFamily,
  report: (message: string, ...path: string[]) => void,
): void => {
  const checkAddress = (address: string | undefined, ...path: string[]): void => {
    const { error } = family.addressSchema.optional().safeParse(address);
    for (const { message } of error?.issues ?? []) report(message, ...path);
  };
  checkAddress(payTo, 'pay_to');
  checkAddress(asset?.address, 'asset', 'address');
  if (asset === undefined) return;
  const { eip712, transfer = family.defaultTransfer } = asset;
  if (family.defaultTransfer === null) {
    if (eip712 !== undefined || transfer !== null)
      report('transfer and eip712 are for EVM networks; remove them', 'asset');
  } else if (transfer === 'eip3009' && eip712 === undefined)
    report('must be set for a token that is transferred by eip3009', 'asset', 'eip712');
};

export const x402Section = z
  .strictObject({
    networks: z
      .record(z.string(), networkSection)
      .default({})
      .superRefine((networks, context) => {
        for (const [id, network] of Object.entries(networks)) {
          const family = findFamily(id);
          if (family !== null)
            checkByFamily(network, family, (message, ...path) =>
              context.addIssue({ code: 'custom', message, path: [id, ...path] }),
            );
        }
      })
      .describe('networks that differ from the variables, by CAIP-2 name'),
  })
  .default({ networks: {} })
  .describe('x402 payments');
