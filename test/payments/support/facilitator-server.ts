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

/** How the server behaves on one path. */
export type ServerMode =
  | { kind: 'work' }
  /** Does the work and cuts the connection. */
  | { kind: 'lost' }
  /** Cuts the connection before it reads the request. */
  | { kind: 'cut-unread' }
  /** Reads the request and cuts the connection. */
  | { kind: 'cut-read' }
  /** Reads the request and answers nothing. */
  | { kind: 'hang' }
  /** Does the work and says something else. */
  | { kind: 'lie'; body: string }
  /** Does the work and says what `twist` makes of the answer. */
  | { kind: 'twist'; twist: (answer: unknown) => unknown }
  /** Does no work. `isCut`: the connection ends half way through the body. */
  | { kind: 'say'; status: number; body: string; headers?: Record<string, string>; isCut?: boolean };

export interface FacilitatorServer {
  url: string;
  /** By path, `/settle`; absent: it works. */
  modes: Map<string, ServerMode>;
  callCount(path: string): number;
  /** Ends every connection and refuses new ones. */
  stop(): Promise<void>;
  /** Listens again, at the same address. */
  resume(): Promise<void>;
}

export interface FacilitatorServerOptions {
  /** Base58 secret key of its Solana fee payer; absent: the chain's facilitator. */
  solanaKey?: string;
  /** Whether the request is let in; otherwise it is answered 401. */
  admit?: (request: IncomingMessage) => Promise<boolean>;
}

/** For the overloads of viem and kit, which the packages' own types do not name in full. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const anything = (value: unknown): never => value as never;

const createFacilitator = async ({ base, solana }: Chains, solanaKey: string): Promise<x402Facilitator> => {
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
  const bytes = getBase58Encoder().encode(solanaKey);
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

const json = { 'content-type': 'application/json' };

/** x402's own facilitator behind its HTTP protocol, with switches for everything that can go wrong. */
export const startFacilitatorServer = async (
  chains: Chains,
  { solanaKey = chains.solana.facilitator.secretKeyBase58, admit }: FacilitatorServerOptions = {},
): Promise<FacilitatorServer> => {
  const facilitator = await createFacilitator(chains, solanaKey);
  const modes = new Map<string, ServerMode>();
  const counts = new Map<string, number>();

  const work = async (path: string, request: IncomingMessage): Promise<unknown> => {
    if (path === '/supported') return facilitator.getSupported();
    const { paymentPayload, paymentRequirements } = await readJson(request);
    if (path === '/verify') return facilitator.verify(paymentPayload!, paymentRequirements!);
    return facilitator.settle(paymentPayload!, paymentRequirements!);
  };
  const say = async (
    { status, body, headers, isCut }: Extract<ServerMode, { kind: 'say' }>,
    { request, response }: { request: IncomingMessage; response: ServerResponse },
  ): Promise<void> => {
    request.resume();
    if (isCut !== true) {
      response.writeHead(status, headers ?? json).end(body);
      return;
    }
    response.writeHead(status, { ...json, 'content-length': `${Buffer.byteLength(body) * 2}` });
    await new Promise((resolve) => response.write(body, resolve));
    response.destroy();
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '/';
    counts.set(path, (counts.get(path) ?? 0) + 1);
    const mode = modes.get(path) ?? { kind: 'work' };
    if (mode.kind === 'cut-unread') {
      request.socket.resetAndDestroy();
      return;
    }
    if (mode.kind === 'say') return say(mode, { request, response });
    if (admit !== undefined && !(await admit(request))) {
      response.writeHead(401, json).end(JSON.stringify({ errorType: 'unauthorized' }));
      return;
    }
    if (mode.kind === 'hang' || mode.kind === 'cut-read') {
      await readJson(request);
      if (mode.kind === 'cut-read') request.socket.resetAndDestroy();
      return;
    }
    const result = await work(path, request);
    if (mode.kind === 'lost') response.destroy();
    else if (mode.kind === 'lie') response.writeHead(200, json).end(mode.body);
    else {
      const said = mode.kind === 'twist' ? mode.twist(result) : result;
      response.writeHead(200, json).end(JSON.stringify(said));
    }
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end('{}'));
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    return address.port;
  };
  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    modes,
    callCount: (path) => counts.get(path) ?? 0,
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    resume: async () => {
      await listen(port);
    },
  };
};
