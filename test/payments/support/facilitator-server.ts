import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createKeyPairSignerFromBytes, createSolanaRpc, getBase58Encoder } from '@solana/kit';
import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { toFacilitatorSvmSigner } from '@x402/svm';
import { ExactSvmScheme } from '@x402/svm/exact/facilitator';
import { createWalletClient, http, publicActions } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import type { Chains } from '../../chains/start-chains.ts';

/** How the server behaves on one path; `lost`: it does the work and cuts the connection; `lie`: it does it and says otherwise. */
export type ServerMode =
  | { kind: 'work' }
  | { kind: 'lost' }
  | { kind: 'hang' }
  | { kind: 'lie'; body: string }
  | { kind: 'say'; status: number; body: string };

export interface FacilitatorServer {
  url: string;
  /** By path, `/settle`; absent: it works. */
  modes: Map<string, ServerMode>;
  callCount(path: string): number;
  stop(): Promise<void>;
}

/** For the overloads of viem and kit, which the packages' own types do not name in full. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const anything = (value: unknown): never => value as never;

const createFacilitator = async ({ base, solana }: Chains): Promise<x402Facilitator> => {
  const account = privateKeyToAccount(base.facilitator.privateKey);
  const wallet = createWalletClient({
    account,
    chain: baseSepolia,
    transport: http(base.rpcUrl),
    pollingInterval: 20,
  }).extend(publicActions);
  const evmSigner = toFacilitatorEvmSigner({
    address: account.address,
    getCode: (args) => wallet.getCode(args),
    readContract: (args) => wallet.readContract(args),
    verifyTypedData: (args) => wallet.verifyTypedData(anything(args)),
    writeContract: (args) => wallet.writeContract(anything(args)),
    sendTransaction: (args) => wallet.sendTransaction(args),
    waitForTransactionReceipt: (args) => wallet.waitForTransactionReceipt(args),
  });
  const bytes = getBase58Encoder().encode(solana.facilitator.secretKeyBase58);
  const keys = await createKeyPairSignerFromBytes(Uint8Array.from(bytes));
  const svmSigner = toFacilitatorSvmSigner(
    keys,
    anything({ [solana.network]: createSolanaRpc(solana.rpcUrl) }),
  );
  return new x402Facilitator()
    .register(base.network, new ExactEvmScheme(evmSigner))
    .register(solana.network, new ExactSvmScheme(svmSigner));
};

const readJson = async (request: IncomingMessage): Promise<Record<string, never>> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
};

/** x402's own facilitator behind its HTTP protocol, with switches for everything that can go wrong. */
export const startFacilitatorServer = async (chains: Chains): Promise<FacilitatorServer> => {
  const facilitator = await createFacilitator(chains);
  const modes = new Map<string, ServerMode>();
  const counts = new Map<string, number>();

  const work = async (path: string, request: IncomingMessage): Promise<unknown> => {
    if (path === '/supported') return facilitator.getSupported();
    const { paymentPayload, paymentRequirements } = await readJson(request);
    if (path === '/verify') return facilitator.verify(paymentPayload!, paymentRequirements!);
    return facilitator.settle(paymentPayload!, paymentRequirements!);
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '/';
    counts.set(path, (counts.get(path) ?? 0) + 1);
    const mode = modes.get(path) ?? { kind: 'work' };
    if (mode.kind === 'hang') return;
    if (mode.kind === 'say') {
      response.writeHead(mode.status, { 'content-type': 'application/json' }).end(mode.body);
      return;
    }
    const result = await work(path, request);
    if (mode.kind === 'lost') response.destroy();
    else if (mode.kind === 'lie')
      response.writeHead(200, { 'content-type': 'application/json' }).end(mode.body);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    modes,
    callCount: (path) => counts.get(path) ?? 0,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
};
