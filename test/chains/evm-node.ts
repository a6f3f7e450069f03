import {
  createTestClient,
  defineChain,
  encodeFunctionData,
  http,
  publicActions,
  walletActions,
  type Address,
  type Hex,
} from 'viem';
import { startAnvil } from './anvil-process.ts';
import { fiatTokenAbi, readFiatToken } from './fiat-token.ts';
import { localEvmKeys } from './local-keys.ts';
import type { RpcControls } from './rpc-faults.ts';
import { forwardTo, startRpcProxy } from './rpc-proxy.ts';

/** Faults of the RPC, and of the chain behind it. The chain's own switches are not struck by the RPC's faults. */
export interface EvmControls extends RpcControls {
  /** Off: transactions stay pending until `mine`. On again, the next transaction takes the pending ones along. */
  setAutomine: (isOn: boolean) => Promise<void>;
  mine: (blocks?: number) => Promise<void>;
  /** Forgets a pending transaction, as if no node had kept it. */
  dropPending: (hash: Hex) => Promise<void>;
  /** Moves the clock of the blocks to come. */
  advanceSeconds: (seconds: number) => Promise<void>;
  /** What the next block asks of every transaction, in wei a unit of gas; later blocks start from it. */
  setNextBaseFee: (wei: bigint) => Promise<void>;
  /** Gives an account so much of the chain's coin, in wei. */
  setBalance: (address: Address, wei: bigint) => Promise<void>;
  setCode: (address: Address, code: Hex) => Promise<void>;
  /** Remembers the chain as it is; what it answers takes back all that came after, as a fork would. */
  startFork: () => Promise<() => Promise<void>>;
}

export interface EvmNode {
  /** Through the switches of `controls`. */
  rpcUrl: string;
  chainId: number;
  usdc: Address;
  /** USDC in its smallest unit. */
  balanceOf: (address: Address) => Promise<bigint>;
  /** Makes new USDC; waits for the block. */
  mint: (address: Address, amount: bigint) => Promise<void>;
  controls: EvmControls;
  /** The node's process. */
  pid: number;
  stop: () => Promise<void>;
}

export interface EvmNodeOptions {
  chainId: number;
  name: string;
  token: { address: Address; decimals: number };
  /** Further code that is there from the start. */
  codes?: { address: Address; bytecode: Hex }[];
  /** The RPC's port; 0 takes a free one. */
  port: number;
}

const { deployer } = localEvmKeys;
const nodeTimeoutMs = 60_000;
/** Anvil now and then leaves a transaction in its pool that came just after mining was switched on again. */
const nudgeAfterMs = 2_000;

const connect = (rpcUrl: string, { chainId, name }: EvmNodeOptions) =>
  createTestClient({
    mode: 'anvil',
    account: deployer.address,
    chain: defineChain({
      id: chainId,
      name,
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    }),
    transport: http(rpcUrl, { retryCount: 0, timeout: nodeTimeoutMs }),
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions);

type Client = ReturnType<typeof connect>;

const callToken = async (client: Client, { to, data }: { to: Address; data: Hex }): Promise<void> => {
  const hash = await client.sendTransaction({ to, data });
  // Where the nudge fails, the wait for the receipt tells it.
  const nudge = setTimeout(() => void client.mine({ blocks: 1 }).catch(() => undefined), nudgeAfterMs);
  const receipt = await client
    .waitForTransactionReceipt({ hash, timeout: nodeTimeoutMs })
    .finally(() => clearTimeout(nudge));
  if (receipt.status !== 'success') throw new Error('A call to the local USDC reverted');
};

const installCode = async (client: Client, { token, codes = [] }: EvmNodeOptions): Promise<void> => {
  const fiatToken = await readFiatToken({ ...token, owner: deployer.address });
  await Promise.all([...fiatToken.codes, ...codes].map((code) => client.setCode(code)));
  for (const data of fiatToken.setup) await callToken(client, { to: token.address, data });
};

/** An EVM node with Circle's USDC code at the token's address. */
export const startEvmNode = async (options: EvmNodeOptions): Promise<EvmNode> => {
  const { chainId, token, port } = options;
  const anvil = await startAnvil({ chainId });
  try {
    const client = connect(anvil.rpcUrl, options);
    await client.setLoggingEnabled(false);
    await installCode(client, options);
    const proxy = await startRpcProxy({ forward: forwardTo(anvil.rpcUrl), port });
    return {
      rpcUrl: proxy.url,
      chainId,
      usdc: token.address,
      balanceOf: (address) =>
        client.readContract({
          address: token.address,
          abi: fiatTokenAbi,
          functionName: 'balanceOf',
          args: [address],
        }),
      mint: (to, amount) =>
        callToken(client, {
          to: token.address,
          data: encodeFunctionData({ abi: fiatTokenAbi, functionName: 'mint', args: [to, amount] }),
        }),
      controls: {
        ...proxy.controls,
        setAutomine: (isOn) => client.setAutomine(isOn),
        mine: (blocks = 1) => client.mine({ blocks }),
        dropPending: (hash) => client.dropTransaction({ hash }),
        advanceSeconds: async (seconds) => {
          await client.increaseTime({ seconds });
          await client.mine({ blocks: 1 });
        },
        setNextBaseFee: (wei) => client.setNextBlockBaseFeePerGas({ baseFeePerGas: wei }),
        setBalance: (address, wei) => client.setBalance({ address, value: wei }),
        setCode: (address, code) => client.setCode({ address, bytecode: code }),
        startFork: async () => {
          const id = await client.snapshot();
          return () => client.revert({ id });
        },
      },
      pid: anvil.pid,
      stop: async () => {
        await proxy.stop();
        await anvil.stop();
      },
    };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
};
