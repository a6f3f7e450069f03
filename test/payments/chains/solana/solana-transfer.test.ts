import {
  address,
  createNoopSigner,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit';
import { ExactSvmScheme } from '@x402/svm/exact/client';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { silentLog } from '../../../../src/kit/log.ts';
import { createPaymentMethods } from '../../../../src/payments/chains/payment-methods.ts';

const asset = '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU';
const payTo = '9aE476sH92Vz7DMPyq5WLPkrKWivxeuTKEFKd2sZZcde';
const wallet = 'EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd';
const requirements = {
  scheme: 'exact',
  network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  amount: '100000',
  asset,
  payTo,
  maxTimeoutSeconds: 60,
  extra: { feePayer: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4' },
} as const;

const mint = Buffer.alloc(82);
mint[44] = 6;
mint[45] = 1;
const answers: Record<string, object> = {
  getLatestBlockhash: {
    blockhash: 'EkSnNWid2cvwEVnVx9aBqawnmiCNiDgp3gUdkDPTKN1N',
    lastValidBlockHeight: 3_090,
  },
  getAccountInfo: {
    data: [mint.toString('base64'), 'base64'],
    executable: false,
    lamports: 1_461_600,
    owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    rentEpoch: 0,
    space: mint.length,
  },
};

let status = 200;
const node = createServer(
  (request, response) =>
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const result = { context: { slot: 1 }, value: answers[method] };
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(status === 200 ? JSON.stringify({ jsonrpc: '2.0', id, result }) : 'Too many requests');
    }),
);
let rpcUrl = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
  rpcUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
});
afterAll(() => void node.close());

const prepare = async (): Promise<string | null> => {
  const [method] = createPaymentMethods({
    networks: [
      {
        network: requirements.network,
        payTo,
        facilitator: { kind: 'remote', rpcUrl, endpoints: [{ url: 'http://127.0.0.1:1', cdpKey: null }] },
      },
    ],
    publicUrl: () => 'http://127.0.0.1',
    log: silentLog,
    now: Date.now,
    accountLeaseOf: () => {
      throw new Error('nothing is settled here');
    },
  });
  return (await method?.prepareTransfer({ wallet, requirements, decimals: 6 })) ?? null;
};

const messageOf = (transaction: unknown) => {
  const { messageBytes, signatures } = getTransactionDecoder().decode(
    getBase64Encoder().encode(String(transaction)),
  );
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (!('instructions' in message)) throw new Error('the message has no instructions');
  const memo = message.instructions.at(-1);
  // Each transfer has a memo of its own.
  return {
    ...message,
    instructions: message.instructions.slice(0, -1),
    memo: memo?.data?.length,
    signatures,
  };
};

it('a prepared transfer is what the official client would have a wallet sign', async () => {
  status = 200;
  const client = new ExactSvmScheme(createNoopSigner(address(wallet)), { rpcUrl });
  const { payload } = await client.createPaymentPayload(2, requirements);
  expect(messageOf(await prepare())).toEqual(messageOf(payload['transaction']));
});

it('no transfer is prepared while the node refuses to answer', async () => {
  status = 429;
  expect(await prepare()).toBeNull();
});
