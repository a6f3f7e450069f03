import { parseArgs } from 'node:util';
import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';
import {
  decodePaymentResponseHeader,
  wrapFetchWithPaymentFromConfig,
  type SchemeRegistration,
} from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { privateKeyToAccount } from 'viem/accounts';

const usage = `Gets a URL and pays for it with x402, as a buyer would. Prints the answer.

  npm run pay -- URL

The buyer's keys come from the environment: BUYER_EVM_PRIVATE_KEY (0x and 64 hex digits), BUYER_SOLANA_SECRET_KEY
(base58) with X402_SOLANA_RPC_URL. "npm run chains" writes test keys for both into data/chains.env:

  npm run pay -- --env-file data/chains.env "http://127.0.0.1:8402/v1/search?query=coffee&limit=20"`;

const timeoutMs = 60_000;

const readSchemes = async (): Promise<SchemeRegistration[]> => {
  const evmKey = process.env['BUYER_EVM_PRIVATE_KEY'];
  const solanaKey = process.env['BUYER_SOLANA_SECRET_KEY'];
  const rpcUrl = process.env['X402_SOLANA_RPC_URL'];
  const schemes: SchemeRegistration[] = [];
  if (evmKey !== undefined) {
    if (!/^0x[0-9a-fA-F]{64}$/.test(evmKey))
      throw new Error('BUYER_EVM_PRIVATE_KEY: must be 0x and 64 hex digits');
    schemes.push({
      network: 'eip155:*',
      client: new ExactEvmScheme(privateKeyToAccount(evmKey as `0x${string}`)),
    });
  }
  if (solanaKey !== undefined) {
    const signer = await createKeyPairSignerFromBytes(new Uint8Array(getBase58Encoder().encode(solanaKey)));
    schemes.push({
      network: 'solana:*',
      client: new ExactSvmScheme(signer, rpcUrl === undefined ? undefined : { rpcUrl }),
    });
  }
  if (schemes.length === 0) throw new Error(`no buyer's key is set\n\n${usage}`);
  return schemes;
};

const main = async (): Promise<void> => {
  const { values, positionals } = parseArgs({
    options: { 'env-file': { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  if (values.help === true) {
    process.stdout.write(`${usage}\n`);
    return;
  }
  const [url] = positionals;
  if (url === undefined || !URL.canParse(url)) throw new Error(`no URL was given\n\n${usage}`);
  if (values['env-file'] !== undefined) process.loadEnvFile(values['env-file']);
  const payingFetch = wrapFetchWithPaymentFromConfig(fetch, { schemes: await readSchemes() });
  const response = await payingFetch(url, { signal: AbortSignal.timeout(timeoutMs) });
  const receipt = response.headers.get('payment-response');
  process.stdout.write(`${await response.text()}\n`);
  if (receipt !== null) process.stderr.write(`${JSON.stringify(decodePaymentResponseHeader(receipt))}\n`);
  if (!response.ok) process.exitCode = 1;
};

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
