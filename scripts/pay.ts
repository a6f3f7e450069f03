import { parseArgs } from 'node:util';
import { decodePaymentResponseHeader } from '@x402/fetch';
import { reasonOf } from './contract/client.ts';
import { outliveReader } from './outlive-reader.ts';
import { loadWallets, payingFetch, signIn, type Wallet } from './wallets.ts';

const usage = `Calls a gateway as a buyer who has only a wallet, and pays with x402. Prints the answer.

  npm run pay -- URL [BODY]               any operation: GET, or POST of the JSON body
  npm run pay -- GATEWAY top-up USD       raises the balance of the wallet's account
  npm run pay -- GATEWAY sign-in          prints a key of that account, good for a day
  npm run pay -- GATEWAY balance
  npm run pay -- GATEWAY purchases        what the wallet bought
  npm run pay -- GATEWAY receipt ID       of a job, a transaction or a purchase

  --sign-in       signs in first, and calls with a key: uses the balance, and pays only what is short
  --max-usd USD   pays at most so much at once (default: 1)
  --env-file F    reads the environment from a file

The buyer's keys come from the environment: BUYER_EVM_PRIVATE_KEY (0x and 64 hex digits), BUYER_SOLANA_SECRET_KEY
(base58) with X402_SOLANA_RPC_URL. "npm run chains" writes test keys for both into data/chains.env. With both keys, the
EVM wallet signs in and pays.

  npm run pay -- --env-file data/chains.env "http://127.0.0.1:8402/v1/search?query=coffee&limit=20"
  npm run pay -- --env-file data/chains.env http://127.0.0.1:8402/v1/images/generations \\
    '{"model":"imagemodel-1.0","prompt":"A harbour"}'`;

const timeoutMs = 300_000;
/** For a key that is used at once. */
const shortSeconds = 60;
const daySeconds = 24 * 3_600;

interface Call {
  path: string;
  body?: string;
  isSignedIn?: boolean;
}

/** The words in place of a body. */
const words: Record<string, (argument: string) => Call> = {
  'top-up': (amount) => ({ path: '/v1/topup', body: JSON.stringify({ amount_usd: amount }) }),
  balance: () => ({ path: '/v1/balance', isSignedIn: true }),
  purchases: () => ({ path: '/v1/purchases', isSignedIn: true }),
  receipt: (id) => ({ path: `/v1/receipts/${encodeURIComponent(id)}`, isSignedIn: true }),
};

const readCall = (url: string, [word, argument = '']: readonly string[]): Call => {
  if (word === undefined) return { path: url };
  if (word.startsWith('{')) return { path: url, body: word };
  const toCall = words[word];
  if (toCall === undefined) throw new Error(`${word}: neither a JSON body nor a known word\n\n${usage}`);
  return toCall(argument);
};

const newKey = async (url: string, wallets: readonly Wallet[]): Promise<string> => {
  const answer = await signIn(url, wallets, {
    seconds: shortSeconds,
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!answer.ok) throw new Error(`the sign-in failed: ${await answer.text()}`);
  return ((await answer.json()) as { key: string }).key;
};

/** Prints streams and files as they come. */
const print = async (response: Response): Promise<void> => {
  for await (const chunk of response.body ?? []) process.stdout.write(chunk);
  if (response.headers.get('content-type')?.includes('json') === true) process.stdout.write('\n');
  const receipt = response.headers.get('payment-response');
  if (receipt !== null) process.stderr.write(`${JSON.stringify(decodePaymentResponseHeader(receipt))}\n`);
  if (!response.ok) process.exitCode = 1;
};

const main = async (): Promise<void> => {
  outliveReader();
  const { values, positionals } = parseArgs({
    options: {
      'env-file': { type: 'string' },
      'sign-in': { type: 'boolean' },
      'max-usd': { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  });
  if (values.help === true) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  const [url, ...rest] = positionals;
  if (url === undefined || !URL.canParse(url)) throw new Error(`no URL was given\n\n${usage}`);
  if (values['env-file'] !== undefined) process.loadEnvFile(values['env-file']);
  const wallets = await loadWallets({
    evmKey: process.env['BUYER_EVM_PRIVATE_KEY'],
    solanaKey: process.env['BUYER_SOLANA_SECRET_KEY'],
    solanaRpcUrl: process.env['X402_SOLANA_RPC_URL'],
  });
  if (wallets.length === 0) throw new Error(`no buyer's key is set\n\n${usage}`);
  const maxUsd = values['max-usd'] ?? '1';
  if (!/^\d{1,9}(?:\.\d{1,6})?$/.test(maxUsd))
    throw new Error('--max-usd must be an amount in USD, such as 2.50');
  const signal = AbortSignal.timeout(timeoutMs);
  if (rest[0] === 'sign-in') {
    await print(await signIn(url, wallets, { seconds: daySeconds, signal }));
    return;
  }
  const { path, body, isSignedIn = values['sign-in'] === true } = readCall(url, rest);
  const call = payingFetch(wallets, maxUsd)(new URL(path, url), {
    headers: {
      ...(isSignedIn ? { authorization: `Bearer ${await newKey(url, wallets)}` } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { method: 'POST', body }),
    signal,
  });
  const response = await call.catch((error: unknown) => {
    if (error instanceof Error && error.message.includes('maxAmountPerPayment'))
      throw new Error(`the price is more than it pays at once; raise --max-usd (now ${maxUsd})`);
    throw error;
  });
  await print(response);
};

main().catch((error: unknown) => {
  process.stderr.write(`${reasonOf(error)}\n`);
  process.exitCode = 1;
});
