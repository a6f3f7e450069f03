import type { EvmChain } from './evm-chain.ts';

/** The code of a plain wallet that delegates to a contract (EIP-7702) begins so. */
const delegationPrefix = '0xef0100';
/** The signature of a contract wallet that it deploys first (ERC-6492) ends so. */
const erc6492Suffix = '6492'.repeat(16);

/**
 * Names the wallet whose signature was accepted (`NetworkFamily.findWallet`), for payments and sign-ins alike. A plain wallet
 * that delegates to code is still the owner of its key, and the same on all chains. A contract belongs to its chain
 * (`network`), as its address may be somebody else's on others. Throws RpcOutage and RpcRefusal.
 */
export const nameEvmWallet = async (
  chain: EvmChain,
  { address, signature, network }: { address: string; signature: string; network: string },
): Promise<string> => {
  const code = await chain.getCode(address);
  const isPlain = code === '0x' || code.startsWith(delegationPrefix);
  return `${isPlain && !signature.endsWith(erc6492Suffix) ? 'eip155' : network}:${address.toLowerCase()}`;
};
