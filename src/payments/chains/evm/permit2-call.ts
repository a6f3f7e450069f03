import { decodeFunctionData, parseAbi, type Hex } from 'viem';
import type { PaymentScheme } from '../core/wire.ts';
import type { EvmTransaction } from './evm-chain.ts';
import { isSameHex, permit2Contracts } from './evm-payload.ts';

const permits = [
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }',
] as const;
const exactAbi = parseAbi([
  ...permits,
  'struct Witness { address to; uint256 validAfter; }',
  'function settle(Permit permit, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, address owner, Witness witness, bytes signature)',
]);
const uptoAbi = parseAbi([
  ...permits,
  'struct Witness { address to; address facilitator; uint256 validAfter; }',
  'function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
  'function settleWithPermit(Permit2612 permit2612, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)',
]);

/** A call of one of x402's proxies, which carries out what a buyer signed for Permit2. */
export interface ProxyCall {
  scheme: PaymentScheme;
  owner: Hex;
  nonce: bigint;
  token: Hex;
  /** The amount that the buyer signed. */
  signed: bigint;
  /** The amount that the call takes. */
  amount: bigint;
  to: Hex;
}

const readExact = (data: Hex): ProxyCall => {
  const { functionName, args } = decodeFunctionData({ abi: exactAbi, data });
  const [{ nonce, permitted }, owner, { to }] =
    functionName === 'settle' ? args : [args[1], args[2], args[3]];
  const { token, amount } = permitted;
  return { scheme: 'exact', owner, nonce, token, signed: amount, amount, to };
};

const readUpto = (data: Hex): ProxyCall => {
  const { functionName, args } = decodeFunctionData({ abi: uptoAbi, data });
  const [{ nonce, permitted }, amount, owner, { to }] =
    functionName === 'settle' ? args : [args[1], args[2], args[3], args[4]];
  const { token, amount: signed } = permitted;
  return { scheme: 'upto', owner, nonce, token, signed, amount, to };
};

/** Reads the call of a transaction; null when it is none of a proxy's settlements. */
export const readProxyCall = ({ to, input }: EvmTransaction): ProxyCall | null => {
  if (to === null) return null;
  try {
    if (isSameHex(to, permit2Contracts.proxy)) return readExact(input);
    return isSameHex(to, permit2Contracts.uptoProxy) ? readUpto(input) : null;
  } catch {
    // Another function of the proxy, or none.
    return null;
  }
};
