import type { PaymentRequired } from '@x402/core/types';
import type { PayConfig } from '../../http/pay-settings.ts';
import { callWithin } from '../../kit/deadline.ts';
import { ConfigError } from '../../kit/errors.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import type { PaymentNetwork } from '../chains/core/network-family.ts';
import type { PaymentPayload } from '../chains/core/wire.ts';
import { configuredNetwork, findNetwork } from '../chains/networks.ts';
import type { X402NetworkConfig } from '../x402-settings.ts';
import type { Offer } from './choose-offer.ts';

export interface BuyingNetwork extends PaymentNetwork {
  key: string;
  rpcUrl: string;
}

/** Solana's proofs need a fresh block hash from the node. The client of the chain has no time-out of its own. */
const signMs = 15_000;

/** Returns the networks of `pay` in its order. Throws ConfigError for a network or key that cannot be right. */
const readNetworks = (
  { setting, keys, networks }: PayConfig,
  sold: readonly X402NetworkConfig[],
): BuyingNetwork[] =>
  networks.map((name) => {
    const found = findNetwork(name);
    if (found === null) throw new ConfigError(`${setting}.networks: ${name} is not a known network`);
    const own = sold.find(({ network }) => network === found.id);
    const network = own === undefined ? found : configuredNetwork(own.network, own.asset);
    const key = keys.find((one) => network.family.secretKeyProblem(one) === null);
    if (key === undefined)
      throw new ConfigError(
        `${setting}.wallet_env: no key for ${network.label}: it ${network.family.secretKeyProblem('')}`,
      );
    return { ...network, key, rpcUrl: own?.facilitator.rpcUrl ?? network.publicRpcUrl };
  });

export type BuyingWallet = ReturnType<typeof openWallet>;

/** Opens the wallet of one upstream. Loads the packages of x402 and of a chain with the first payment. */
export const openWallet = (pay: PayConfig, sold: readonly X402NetworkConfig[]) => {
  const networks = readNetworks(pay, sold);
  const openClient = memoizeAsync(async () => {
    const { x402Client } = await import('@x402/fetch');
    // Price, token and network were checked before, by our own limits.
    const client = new x402Client().setSpendControls(false);
    for (const { id, family, key, rpcUrl } of networks)
      client.register(id, await family.openClient(key, { rpcUrl }));
    return client;
  });
  return {
    networks,
    maxPerCall: pay.maxPerCall,
    /** Signs a proof for an offer, and sends nothing. Throws Error when it is not one for just these terms. */
    sign: async (
      { network, requirements, resource }: Offer,
      signal: AbortSignal | null,
    ): Promise<{ payload: PaymentPayload; identity: string }> => {
      const required: PaymentRequired = { x402Version: 2, resource, accepts: [requirements] };
      const signed = await callWithin({
        call: async () => (await openClient()).createPaymentPayload(required),
        timeoutMs: signMs,
        ...(signal === null ? {} : { signal }),
      });
      const payload: PaymentPayload = {
        x402Version: 2,
        resource,
        accepted: requirements,
        payload: signed.payload,
      };
      const { family, asset } = network;
      const mismatch = family.findMismatch(payload.payload, { terms: requirements, asset });
      if (mismatch !== null || (await family.findPayingAccounts({ payload, requirements })) === null)
        throw new Error(`the signed proof differs from its terms: ${mismatch ?? 'no transfer'}`);
      // A payment is named by the built-in token of its network.
      const identity = await family.identify(payload.payload, findNetwork(network.id) ?? network);
      return { payload, identity };
    },
  };
};
