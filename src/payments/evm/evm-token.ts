import { encodeFunctionData, parseAbi, type Hex } from 'viem';
import type { EvmChain } from './evm-chain.ts';
import { RpcOutage } from '../core/json-rpc.ts';
import type { RefundTransfer } from '../refunds/refund-transfer.ts';

const abi = parseAbi([
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address owner) view returns (uint256)',
]);

/** An address as a type of its own. Throws TypeError for anything else, which is a fault of ours. */
const toHex = (address: string): Hex => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new TypeError(`${address} is no EVM address`);
  return `0x${address.slice(2)}`;
};

/** The call to the token that makes the transfer. */
export const encodeTransfer = ({ asset, recipient, amount }: RefundTransfer): { to: Hex; data: Hex } => ({
  to: toHex(asset),
  data: encodeFunctionData({ abi, functionName: 'transfer', args: [toHex(recipient), amount] }),
});

/** Throws RpcOutage or RpcRefusal. */
export const readTokenBalance = async (
  chain: EvmChain,
  { asset, owner }: { asset: string; owner: string },
): Promise<bigint> => {
  const data = encodeFunctionData({ abi, functionName: 'balanceOf', args: [toHex(owner)] });
  const answer = await chain.call({ to: asset, data });
  if (!/^0x[0-9a-f]{64}$/i.test(answer)) throw new RpcOutage('the node answered balanceOf with no balance');
  return BigInt(answer);
};
