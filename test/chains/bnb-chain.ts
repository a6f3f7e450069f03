import {
  createWalletClient,
  encodeFunctionData,
  http,
  maxUint256,
  parseAbi,
  publicActions,
  type Address,
  type Hex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { bscTestnet } from 'viem/chains';
import { startEvmNode, type EvmNode } from './evm-node.ts';
import { localEvmKeys } from './local-keys.ts';
import { permit2Addresses, readPermit2Contracts } from './permit2-code.ts';

export interface BnbChain extends EvmNode {
  network: 'eip155:97';
  buyer: { address: Address; privateKey: Hex };
  /** Has BNB for gas. */
  facilitator: { address: Address; privateKey: Hex };
  seller: { address: Address };
  /** Lets Permit2 take so much (default: anything) of the owner's USDC; waits for the block. */
  allowPermit2: (owner: { privateKey: Hex }, amount?: bigint) => Promise<void>;
  /** Lets the owner use a nonce of Permit2 up without paying anybody; waits for the block. */
  spendNonce: (owner: { privateKey: Hex }, nonce: bigint) => Promise<void>;
}

const { facilitator, buyer, seller } = localEvmKeys;
const chainId = 97;
const usdc: Address = '0x64544969ed7EBf5f083679233325356EbE738930';
const permit2Abi = parseAbi(['function invalidateUnorderedNonces(uint256 wordPosition, uint256 mask)']);
const erc20Abi = parseAbi(['function approve(address spender, uint256 amount) returns (bool)']);

/**
 * BNB Chain's test net in small: an EVM node of its chain id with Permit2, a stand-in for x402's proxy, and a USDC of 18
 * decimals, which here is Circle's code.
 */
export const startBnbChain = async ({ port = 0 }: { port?: number } = {}): Promise<BnbChain> => {
  const node = await startEvmNode({
    chainId,
    name: 'Local BNB Chain',
    token: { address: usdc, decimals: 18 },
    codes: await readPermit2Contracts(chainId),
    port,
  });
  const send = async (
    { privateKey }: { privateKey: Hex },
    call: Parameters<typeof encodeFunctionData>[0] & { address: Address },
  ): Promise<void> => {
    const account = privateKeyToAccount(privateKey);
    await node.controls.setBalance(account.address, 10n ** 18n);
    const wallet = createWalletClient({
      account,
      chain: bscTestnet,
      transport: http(node.rpcUrl, { retryCount: 0 }),
      pollingInterval: 20,
    }).extend(publicActions);
    const hash = await wallet.sendTransaction({ to: call.address, data: encodeFunctionData(call) });
    await wallet.waitForTransactionReceipt({ hash });
  };
  return {
    ...node,
    network: 'eip155:97',
    buyer,
    facilitator,
    seller,
    allowPermit2: (owner, amount = maxUint256) =>
      send(owner, {
        address: usdc,
        abi: erc20Abi,
        functionName: 'approve',
        args: [permit2Addresses.permit2, amount],
      }),
    spendNonce: (owner, nonce) =>
      send(owner, {
        address: permit2Addresses.permit2,
        abi: permit2Abi,
        functionName: 'invalidateUnorderedNonces',
        args: [nonce >> 8n, 1n << (nonce & 255n)],
      }),
  };
};
