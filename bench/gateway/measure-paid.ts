import { setTimeout as delay } from 'node:timers/promises';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import type { PaymentPayload } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import type { BaseChain } from '../../test/chains/base-chain.ts';
import type { Bench } from './bench.ts';
import { cpuMsOf } from './process-usage.ts';
import type { Section } from './results.ts';
import { figure, median, ratioRow } from './row.ts';
import { startProcess } from './start-process.ts';

const path = '/v1/search?query=coffee&limit=20';
const searchesOfRound = 20;

interface SignedSearch {
  payload: PaymentPayload;
  header: string;
}

/** Signs payments for searches with a stock client, by the terms that the gateway offers. */
export const signSearches = async (url: string, chain: BaseChain, count: number): Promise<SignedSearch[]> => {
  const account = privateKeyToAccount(chain.buyer.privateKey);
  const client = new x402HTTPClient(new x402Client().register(chain.network, new ExactEvmScheme(account)));
  const refusal = await fetch(url + path);
  const required = client.getPaymentRequiredResponse(
    (name) => refusal.headers.get(name),
    await refusal.json(),
  );
  const signed: SignedSearch[] = [];
  for (let place = 0; place < count; place += 1) {
    const payload = await client.createPaymentPayload(required);
    signed.push({ payload, header: client.encodePaymentSignatureHeader(payload)['PAYMENT-SIGNATURE'] ?? '' });
  }
  return signed;
};

const mostTries = 1_000;

/** Buys one search. Sends it again while the gateway is not ready. */
export const searchOnce = async (url: string, header: string): Promise<void> => {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(url + path, { headers: { 'payment-signature': header } });
    const text = await response.text();
    if (response.status === 200) return;
    if (tries >= mostTries || response.status < 500)
      throw new Error(`A paid search answered ${response.status}: ${text.slice(0, 500)}`);
    await delay(20);
  }
};

/** Compares a paid search with the x402 package's verification and settlement alone. */
export const measurePaid = async (bench: Bench, chain: BaseChain): Promise<Section> => {
  const { gateway, rounds, say } = bench;
  const facilitator = startProcess('facilitator', 'gateway');
  try {
    // Two senders with one account would use the same nonces.
    const privateKey = generatePrivateKey();
    await chain.controls.setBalance(privateKeyToAccount(privateKey).address, 10n ** 18n);
    const settle = (signed: readonly SignedSearch[]): Promise<number> =>
      facilitator.ask({ rpcUrl: chain.rpcUrl, privateKey, payloads: signed.map(({ payload }) => payload) });
    const search = async (signed: readonly SignedSearch[]): Promise<void> => {
      for (const { header } of signed) await searchOnce(gateway.url, header);
    };
    const cpuOf = async (pid: number, work: () => Promise<unknown>): Promise<number> => {
      const before = await cpuMsOf(pid);
      await work();
      return ((await cpuMsOf(pid)) - before) / searchesOfRound;
    };
    const next = (): Promise<SignedSearch[]> => signSearches(gateway.url, chain, searchesOfRound);
    await settle(await next());
    await search(await next());
    const limits: number[] = [];
    const ours: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const [first, second] = [await next(), await next()];
      limits.push(await cpuOf(facilitator.pid, () => settle(first)));
      ours.push(await cpuOf(gateway.pid, () => search(second)));
      say(`paid search: ${figure(ours.at(-1) ?? 0)} ms beside ${figure(limits.at(-1) ?? 0)} ms`);
    }
    const work = 'paid search on Base, all of it';
    return {
      rows: [ratioRow({ work, unit: 'ms CPU', limit: median(limits), measured: median(ours), most: 1.5 })],
      lines: [
        "The limit is verify and settle of @x402/evm's facilitator with viem, in a process of its own on the same chain. " +
          `Searches run one at a time, ${searchesOfRound} a round.`,
      ],
    };
  } finally {
    await facilitator.stop();
  }
};
