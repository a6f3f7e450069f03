import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { generatePrivateKey } from 'viem/accounts';
import { afterAll, beforeAll, expect, it } from 'vitest';

const terms = {
  scheme: 'exact',
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount: '5000000',
  payTo: '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
  maxTimeoutSeconds: 300,
  extra: { name: 'USDC', version: '2' },
};

/** Asks $5 for each call. */
const dear = createServer((request, response) => {
  const required = { x402Version: 2, resource: { url: `http://${request.headers.host}/` }, accepts: [terms] };
  response.writeHead(402, { 'payment-required': Buffer.from(JSON.stringify(required)).toString('base64') });
  response.end('{}');
});
let url: string;
beforeAll(async () => {
  dear.listen(0, '127.0.0.1');
  await once(dear, 'listening');
  url = `http://127.0.0.1:${(dear.address() as AddressInfo).port}/`;
});
afterAll(() => new Promise((resolve) => dear.close(resolve)));

/** Returns the exit code of `npm run pay`, and what it says on standard error. */
const pay = async (...words: string[]): Promise<[unknown, string]> => {
  const child = spawn(process.execPath, ['scripts/pay.ts', ...words], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, BUYER_EVM_PRIVATE_KEY: generatePrivateKey() },
  });
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return [code, errors];
};

it('npm run pay names its own option when a price is above the most that it pays', async () => {
  const tooDear = 'the price is more than it pays at once; raise --max-usd (now 1)\n';
  expect(await pay(url)).toEqual([1, tooDear]);
  expect(await pay('--max-usd', '4.99', url)).toEqual([1, tooDear.replace('now 1', 'now 4.99')]);
});

it('npm run pay refuses an amount that is none before it asks', async () => {
  expect(await pay('--max-usd', 'x', url)).toEqual([1, '--max-usd must be an amount in USD, such as 2.50\n']);
});

it('npm run pay says why a gateway does not answer', async () => {
  const closed = createServer();
  closed.listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  const [code, errors] = await pay(`http://127.0.0.1:${port}/v1/search?query=coffee`);
  expect([code, errors]).toEqual([1, `fetch failed: connect ECONNREFUSED 127.0.0.1:${port}\n`]);
});
