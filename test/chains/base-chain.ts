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
interface BaseControls extends RpcControls {
  /** Off: transactions stay pending until `mine`. On again, the next transaction takes the pending ones along. */
  setAutomine: (isOn: boolean) => Promise<void>;
  mine: (blocks?: number) => Promise<void>;
  /** Forgets a pending transaction, as if no node had kept it. */
  dropPending: (hash: Hex) => Promise<void>;
  /** Moves the clock of the blocks to come. */
  advanceSeconds: (seconds: number) => Promise<void>;
}

export interface BaseChain {
  /** Through the switches of `controls`. */
  rpcUrl: string;
  chainId: number;
  network: 'eip155:84532';
  usdc: Address;
  buyer: { address: Address; privateKey: Hex };
  /** Has ETH for gas. */
  facilitator: { address: Address; privateKey: Hex };
  seller: { address: Address };
  /** USDC in its smallest unit. */
  balanceOf: (address: Address) => Promise<bigint>;
  /** Makes new USDC; waits for the block. */
  mint: (address: Address, amount: bigint) => Promise<void>;
  controls: BaseControls;
  /** The node's process. */
  pid: number;
  stop: () => Promise<void>;
}

const chainId = 84_532;
const usdc: Address = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const { deployer, facilitator, buyer, seller } = localEvmKeys;
const receiptTimeoutMs = 10_000;

const connect = (rpcUrl: string) =>
  createTestClient({
    mode: 'anvil',
    account: deployer.address,
    chain: defineChain({
      id: chainId,
      name: 'Local Base Sepolia',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [rpcUrl] } },
    }),
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions);

type Client = ReturnType<typeof connect>;

const callToken = async (client: Client, data: Hex): Promise<void> => {
  const hash = await client.sendTransaction({ to: usdc, data });
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: receiptTimeoutMs });
  if (receipt.status !== 'success') throw new Error('A call to the local USDC reverted');
};

const installToken = async (client: Client): Promise<void> => {
  const token = await readFiatToken({ address: usdc, owner: deployer.address });
  await Promise.all(token.codes.map((code) => client.setCode(code)));
  for (const data of token.setup) await callToken(client, data);
};

/** Base Sepolia in small: an EVM node of its chain id, with real USDC at its address there. */
export const startBaseChain = async ({ port = 0 }: { port?: number } = {}): Promise<BaseChain> => {
  const anvil = await startAnvil({ chainId });
  try {
    const client = connect(anvil.rpcUrl);
    await client.setLoggingEnabled(false);
    await installToken(client);
    const proxy = await startRpcProxy({ forward: forwardTo(anvil.rpcUrl), port });
    return {
      rpcUrl: proxy.url,
      chainId,
      network: 'eip155:84532',
      usdc,
      buyer,
      facilitator,
      seller,
      balanceOf: (address) =>
        client.readContract({ address: usdc, abi: fiatTokenAbi, functionName: 'balanceOf', args: [address] }),
      mint: (to, amount) =>
        callToken(
          client,
          encodeFunctionData({ abi: fiatTokenAbi, functionName: 'mint', args: [to, amount] }),
        ),
      controls: {
        ...proxy.controls,
        setAutomine: (isOn) => client.setAutomine(isOn),
        mine: (blocks = 1) => client.mine({ blocks }),
        dropPending: (hash) => client.dropTransaction({ hash }),
        advanceSeconds: async (seconds) => {
          await client.increaseTime({ seconds });
          await client.mine({ blocks: 1 });
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
