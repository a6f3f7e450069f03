import { decodePaymentResponseHeader } from '@x402/fetch';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import type { Chains } from '../../test/chains/start-chains.ts';
import { loadWallets, payingFetch, signIn, type Wallet } from '../wallets.ts';
import { must, say, step } from './stage.ts';

const timeoutMs = 30_000;
const startingUsdc = 1_000_000n;

const image = { model: 'imagemodel-1.0', prompt: 'A lighthouse at the end of a causeway' };
const chat = {
  model: 'textmodel-3.5-flash',
  messages: [{ role: 'user', content: 'Name a lighthouse, in one sentence.' }],
  max_tokens: 2_000,
};

/** A call that was paid, in USD. */
interface Purchase {
  id: string;
  paid: number;
  cost: number;
}

/** Shows an agent that has a wallet and nothing else: no key, no account, no coin of the chain. */
export const useWallet = async (gatewayUrl: string, { base }: Chains): Promise<void> => {
  const privateKey = generatePrivateKey();
  const address = privateKeyToAddress(privateKey);
  const wallets = await loadWallets({ evmKey: privateKey });
  await base.mint(address, startingUsdc);

  await step('An agent with a new wallet and 1 USDC finds what is sold', () => findGoods(gatewayUrl));
  await step('It looks at prices before it pays', async () => {
    await readQuote(gatewayUrl + '/v1/images/generations', image);
    await readQuote(gatewayUrl + '/v1/chat/completions', chat);
  });

  const pay = payingFetch(wallets);
  const buy = async (path: string, body: object): Promise<Purchase> => {
    const before = await base.balanceOf(address);
    const call = await payCall(gatewayUrl + path, body, pay);
    const paid = Number(before - (await base.balanceOf(address))) / 1e6;
    must(call.cost > 0 && call.cost <= paid, 'a call costs no more than was paid');
    say(`paid ${toUsd(paid)}, cost ${toUsd(call.cost)}, kept as balance ${toUsd(paid - call.cost)}`);
    return { ...call, paid };
  };
  const bought = await step('It pays for an image and a chat, without a key (@x402/fetch)', async () => [
    await buy('/v1/images/generations', image),
    await buy('/v1/chat/completions', chat),
  ]);

  await step('It signs in with its wallet, and reads its receipts and its balance', () =>
    readAccount(gatewayUrl, wallets, bought),
  );
};

const toUsd = (amount: number): string => '$' + Number(amount.toFixed(9));

const post = (url: string, body: object, send = fetch): Promise<Response> =>
  send(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });

const findGoods = async (gatewayUrl: string): Promise<void> => {
  const response = await fetch(gatewayUrl + '/.well-known/x402', { signal: AbortSignal.timeout(timeoutMs) });
  const { items } = (await response.json()) as {
    items: {
      type: string;
      resource: { url: string; description: string };
      price: { min: string; max: string | null };
    }[];
  };
  const goods = items.filter(({ type }) => type === 'http');
  must(goods.length > 1, 'more than the search is sold');
  for (const { resource, price } of goods) {
    const { pathname } = new URL(resource.url);
    const range = [price.min, ...(price.max === price.min ? [] : [price.max ?? 'no maximum'])];
    say(`${pathname.padEnd(24)} ${range.join(' to ').padEnd(18)} ${resource.description}`);
  }
};

const readQuote = async (url: string, body: object): Promise<void> => {
  const response = await post(url, body);
  must(response.status === 402, `an unpaid call answers 402, not ${response.status}`);
  const { x402, quote } = (await response.json()) as { x402: { amount: string }; quote: object };
  say(`${new URL(url).pathname}: $${x402.amount}\n  ${JSON.stringify(quote)}`);
};

const payCall = async (url: string, body: object, pay: typeof fetch): Promise<Omit<Purchase, 'paid'>> => {
  const response = await post(url, body, pay);
  must(response.status === 200, `a paid call answers 200, not ${response.status}`);
  const receipt = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '');
  must(receipt.success, 'the payment is settled');
  const answer = (await response.json()) as {
    id: string;
    data?: { url: string }[];
    choices?: { message: { content: string } }[];
  };
  say(answer.data?.[0]?.url ?? answer.choices?.[0]?.message.content ?? '');
  return { id: answer.id, cost: Number(response.headers.get('x-causeway-charge-usd')) };
};

const readAccount = async (
  gatewayUrl: string,
  wallets: readonly Wallet[],
  bought: readonly Purchase[],
): Promise<void> => {
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await signIn(gatewayUrl, wallets, { seconds: 600, signal });
  must(response.status === 200, `the sign-in answers 200, not ${response.status}`);
  const { key, account } = (await response.json()) as { key: string; account: { wallet: string } };
  say(`${account.wallet}: key ${key.slice(0, 16)}…, for ten minutes`);
  const read = async (path: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(gatewayUrl + path, { headers: { authorization: `Bearer ${key}` }, signal });
    must(answer.status === 200, `${path} answers 200, not ${answer.status}`);
    return (await answer.json()) as Record<string, unknown>;
  };

  for (const { id, cost } of bought) {
    const {
      kind,
      units,
      rate,
      hold_usd: hold,
      charge_usd: charge,
      receipt,
    } = await read(`/v1/receipts/${id}`);
    must(Number(charge) === cost && receipt !== undefined, 'a signed receipt of the same charge');
    say(`${String(kind)}: ${JSON.stringify(units)} at ${JSON.stringify(rate)}`);
    say(`  held $${String(hold)}, charged $${String(charge)}`);
  }
  const { data: purchases } = await read('/v1/purchases');
  must(Array.isArray(purchases) && purchases.length === bought.length, 'each payment is a purchase');
  say(`Purchases: ${purchases.length}`);
  const { balance_usd: balance } = await read('/v1/balance');
  const kept = bought.reduce((sum, { paid, cost }) => sum + paid - cost, 0);
  must(Math.abs(Number(balance) - kept) < 1e-9, 'the balance is what was paid and not used');
  say(`Balance ${toUsd(Number(balance))}`);
};
