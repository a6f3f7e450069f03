import type { z } from 'zod';
import { ConfigError } from '../kit/errors.ts';
import { withoutTrailingSlash } from '../kit/settings.ts';
import type { NetworkFamily, PaymentAsset } from './chains/core/network-family.ts';
import { paymentNetworks, findFamily, networkFamilies } from './chains/networks.ts';
import {
  dialects,
  type CdpKey,
  type FacilitatorEndpoint,
  type FacilitatorConfig,
  type NetworkSection,
  type X402NetworkConfig,
  type X402Values,
  type x402Section,
} from './x402-settings.ts';

type Section = z.output<typeof x402Section>;

const publicTestFacilitator = 'https://x402.org/facilitator';
const cdpHost = 'api.cdp.coinbase.com';
const familyOf = (network: string): NetworkFamily => {
  const family = findFamily(network);
  if (family === null) throw new ConfigError(`X402_NETWORKS: ${network} cannot take payments`);
  return family;
};
const settingOf = (network: string, name: string): string => `x402.networks.${network}.${name}`;
const isMain = (network: string): boolean =>
  paymentNetworks.some(({ id, isTest }) => id === network && !isTest);
const isCdp = (url: string): boolean => new URL(url).hostname === cdpHost;

const readCdpKey = ({
  X402_CDP_API_KEY_ID: id,
  X402_CDP_API_KEY_SECRET: secret,
}: X402Values): CdpKey | null => {
  if (id !== undefined && secret !== undefined) return { id, secret };
  if (id === undefined && secret === undefined) return null;
  const [missing, other] = id === undefined ? ['ID', 'SECRET'] : ['SECRET', 'ID'];
  throw new ConfigError(`X402_CDP_API_KEY_${missing}: must be set beside X402_CDP_API_KEY_${other}`);
};

/** The facilitators that were named; none when none was. The key goes to Coinbase's own host, and to it alone. */
const readEndpoints = (values: X402Values): FacilitatorEndpoint[] => {
  const cdpKey = readCdpKey(values);
  const urls = values.X402_FACILITATOR_URL ?? [];
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
const readRpcUrls = (values: X402Values, section: Section): Map<string, string> => {
  const urls = new Map<string, string>();
  for (const family of networkFamilies) {
    const name = `${family.settingPrefix}_RPC_URL` as const;
    const networks = values.X402_NETWORKS.filter((network) => familyOf(network) === family);
    const open = networks.filter((network) => section.networks[network]?.rpc_url === undefined);
    const fallback = values[name];
    if (fallback !== undefined && open.length > 1)
      throw new ConfigError(
        `${name}: cannot be the node of ${open.join(' and ')}; set ${settingOf(open[0] ?? '', 'rpc_url')} in causeway.yaml`,
      );
    for (const network of networks) {
      const url = section.networks[network]?.rpc_url ?? fallback;
      if (url !== undefined) urls.set(network, url);
    }
  }
  return urls;
};

interface FacilitatorSources {
  values: X402Values;
  endpoints: FacilitatorEndpoint[];
  settings: NetworkSection | undefined;
  rpcUrl: string | null;
}

const readLocal = (
  network: string,
  { values, settings, rpcUrl }: FacilitatorSources,
): FacilitatorConfig | null => {
  const family = familyOf(network);
  const keyName = `${family.settingPrefix}_FACILITATOR_KEY` as const;
  const privateKey = values[keyName];
  if (settings?.facilitator === 'remote') return null;
  if (privateKey !== undefined && rpcUrl !== null) return { kind: 'local', rpcUrl, privateKey };
  if (settings?.facilitator !== 'local') return null;
  if (privateKey === undefined)
    throw new ConfigError(`${keyName}: must be set for ${settingOf(network, 'facilitator')}: local`);
  throw new ConfigError(
    `causeway.yaml: ${settingOf(network, 'rpc_url')}: must be set for facilitator: local (or ${family.settingPrefix}_RPC_URL)`,
  );
};

const readRemote = (
  network: string,
  { values, endpoints, rpcUrl }: FacilitatorSources,
): FacilitatorConfig => {
  if (isMain(network) && endpoints.length === 0) {
    const keyName = `${familyOf(network).settingPrefix}_FACILITATOR_KEY` as const;
    const other = values[keyName] === undefined ? keyName : settingOf(network, 'rpc_url');
    throw new ConfigError(`X402_FACILITATOR_URL: must be set (or ${other}) for ${network}`);
  }
  const known = endpoints.length > 0 ? endpoints : [{ url: publicTestFacilitator, cdpKey: null }];
  return { kind: 'remote', endpoints: known, rpcUrl };
};

/** Refuses a key that settles nothing, because the operator believes that it is used. */
const refuseIdleKeys = (
  values: X402Values,
  { section, rpcUrls }: { section: Section; rpcUrls: Map<string, string> },
): void => {
  for (const family of networkFamilies) {
    const keyName = `${family.settingPrefix}_FACILITATOR_KEY` as const;
    const networks = values.X402_NETWORKS.filter((network) => familyOf(network) === family);
    if (values[keyName] === undefined || networks.length === 0) continue;
    const willing = networks.filter((network) => section.networks[network]?.facilitator !== 'remote');
    if (willing.length === 0)
      throw new ConfigError(
        `${keyName}: is used by no network; each has facilitator: remote in causeway.yaml`,
      );
    if (!willing.some((network) => rpcUrls.has(network)))
      throw new ConfigError(`${family.settingPrefix}_RPC_URL: must be set beside ${keyName}`);
  }
};

const readAsset = (network: string, asset: NetworkSection['asset']): PaymentAsset | null =>
  asset === undefined
    ? null
    : {
        ...asset,
        eip712: asset.eip712 ?? null,
        transfer: asset.transfer ?? familyOf(network).defaultTransfer,
      };

export type X402Config = ReturnType<typeof readX402Settings>;

/** Throws ConfigError with one line that names the setting. */
export const readX402Settings = (values: X402Values, section: Section) => {
  const { X402_NETWORKS: names } = values;
  const mainCount = names.filter(isMain).length;
  if (mainCount > 0 && mainCount < names.length)
    throw new ConfigError(
      'X402_NETWORKS: names main and test networks; test money, which costs nothing, would buy the same',
    );
  const stray = Object.keys(section.networks).find((network) => !names.includes(network));
  if (stray !== undefined)
    throw new ConfigError(`causeway.yaml: x402.networks.${stray}: X402_NETWORKS does not name it`);
  const endpoints = readEndpoints(values);
  const rpcUrls = readRpcUrls(values, section);
  refuseIdleKeys(values, { section, rpcUrls });
  const networks = names.map((network): X402NetworkConfig => {
    const settings = section.networks[network];
    const { settingPrefix } = familyOf(network);
    const payTo = settings?.pay_to ?? values[`${settingPrefix}_PAY_TO`] ?? null;
    if (isMain(network) && payTo === null)
      throw new ConfigError(
        `${settingPrefix}_PAY_TO: must name your wallet, as ${network} is a main network`,
      );
    const sources = { values, endpoints, settings, rpcUrl: rpcUrls.get(network) ?? null };
    return {
      network,
      payTo,
      facilitator: readLocal(network, sources) ?? readRemote(network, sources),
      asset: readAsset(network, settings?.asset),
    };
  });
  return {
    /** Empty: nothing is sold for x402 payments. */
    networks,
    /** True for main networks; main and test networks are never mixed. */
    takesRealMoney: mainCount > 0,
    headerBytes: values.X402_HEADER_BYTES,
    /** Those that are switched on. */
    dialects: dialects.filter(({ setting }) => values[setting]),
    settleMs: values.X402_SETTLE_MS,
    /** The keys of refunds by the names of families; null for a key that is not set. The server does not use them. */
    refundKeys: Object.fromEntries(
      networkFamilies.map(({ name, settingPrefix }) => [name, values[`${settingPrefix}_REFUND_KEY`] ?? null]),
    ),
  };
};
