import {
  encodeDeployData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  hashMessage,
  isAddress,
  isHex,
  verifyMessage,
  zeroAddress,
  type Address,
  type Hex,
} from 'viem';
import { instead } from '../../../kit/errors.ts';
import type { SignedText } from '../core/network-family.ts';
import { isRevert, nameEvmWallet, type EvmChain } from './evm-chain.ts';

interface Signed {
  address: Address;
  text: string;
  signature: Hex;
}

const isSignedByKey = async ({ text: message, ...signed }: Signed): Promise<boolean> => {
  try {
    return await verifyMessage({ ...signed, message });
  } catch {
    // Not the form of a key's signature.
    return false;
  }
};

/** Asks the wallet's contract (ERC-1271), which the signature itself may deploy first (ERC-6492), in a call that stores nothing. */
const isSignedByContract = async (
  chain: EvmChain,
  { address, text, signature }: Signed,
): Promise<boolean> => {
  const data = encodeDeployData({
    abi: erc6492SignatureValidatorAbi,
    bytecode: erc6492SignatureValidatorByteCode,
    args: [address, hashMessage(text), signature],
  });
  return /^0x0*1$/.test(await chain.call({ data }).catch(instead('', isRevert)));
};

/** Asks for the key first, then for the wallet's code. Throws RpcOutage and RpcRefusal. */
export const findEvmSigner = async (
  { text, address, signature, network }: SignedText,
  chain: EvmChain,
): Promise<string | null> => {
  // An address without capitals has no checksum. No key signs for the zero address, which wrong signatures lead to.
  if (!isAddress(address) || address === zeroAddress || !isHex(signature)) return null;
  const signed = { address, text, signature };
  if (await isSignedByKey(signed)) return `eip155:${address.toLowerCase()}`;
  return (await isSignedByContract(chain, signed))
    ? nameEvmWallet(chain, { address, signature, network })
    : null;
};
