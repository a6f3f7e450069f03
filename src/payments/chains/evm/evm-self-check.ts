import { domainSeparator, parseAbi, zeroAddress, zeroHash, type Hex } from 'viem';
import type { PaymentAsset, PaymentNetwork } from '../core/network-family.ts';
import { chainIdOf, isRevert, type EvmChain } from './evm-chain.ts';
import { eip3009Abi } from './evm-authorization.ts';
import { isSameHex, permit2Contracts } from './evm-payload.ts';
import { readContract, UnreadableAnswer } from './evm-token.ts';

const tokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
]);

/** Waits for the answer of a token. Null when the token has no such function. */
const ifKnown = async <T>(reading: Promise<T>): Promise<T | null> => {
  try {
    return await reading;
  } catch (error) {
    if (isRevert(error) || error instanceof UnreadableAnswer) return null;
    throw error;
  }
};

/** Tells whether buyers sign under the token's own domain. False only when the token tells another domain. */
const mayHaveDomain = async (
  chain: EvmChain,
  domain: { name: string; version: string; chainId: number; verifyingContract: Hex },
): Promise<boolean> => {
  const read = { address: domain.verifyingContract, abi: tokenAbi, args: [] } as const;
  const separator = await ifKnown(readContract(chain, { ...read, functionName: 'DOMAIN_SEPARATOR' }));
  if (separator !== null) return isSameHex(separator, domainSeparator({ domain }));
  const told = await ifKnown(readContract(chain, { ...read, functionName: 'eip712Domain' }));
  if (told === null) return true;
  const [, name, version, chainId, verifyingContract] = told;
  return (
    name === domain.name &&
    version === domain.version &&
    chainId === BigInt(domain.chainId) &&
    isSameHex(verifyingContract, domain.verifyingContract)
  );
};

interface Question {
  chain: EvmChain;
  network: PaymentNetwork;
  asset: PaymentAsset;
  /** The token, for people. */
  named: string;
  /** The section of the network in causeway.yaml. */
  setting: string;
}

const findDecimalsFault = async ({ chain, asset, named, setting }: Question): Promise<string | null> => {
  const read = { address: asset.address, abi: tokenAbi, functionName: 'decimals', args: [] } as const;
  const decimals = await ifKnown(readContract(chain, read));
  return decimals === asset.decimals
    ? null
    : `${named} has ${decimals ?? 'no'} decimals, not ${asset.decimals}; set ${setting}.asset.decimals`;
};

const findEip3009Fault = async ({ chain, asset, named, setting }: Question): Promise<string | null> => {
  if (asset.transfer !== 'eip3009') return null;
  const state = await ifKnown(
    readContract(chain, {
      address: asset.address,
      abi: eip3009Abi,
      functionName: 'authorizationState',
      args: [zeroAddress, zeroHash],
    }),
  );
  return state === null ? `${named} has no ERC-3009; set ${setting}.asset with transfer: permit2` : null;
};

const findDomainFault = async ({
  chain,
  network,
  asset,
  named,
  setting,
}: Question): Promise<string | null> => {
  if (asset.eip712 === null) return null;
  const { name, version } = asset.eip712;
  const verifyingContract: Hex = `0x${asset.address.slice(2)}`;
  const domain = { name, version, chainId: chainIdOf(network.id), verifyingContract };
  return (await mayHaveDomain(chain, domain))
    ? null
    : `${named} is not signed for as "${name}", version "${version}"; set ${setting}.asset.eip712`;
};

const findMissingContract = async (
  { chain, network, asset, setting }: Question,
  name: string,
  address: string,
): Promise<string | null> =>
  asset.transfer === 'permit2' && (await chain.getCode(address)) === '0x'
    ? `${name} is not at ${address} on ${network.label}; set ${setting}.asset to a token with ERC-3009`
    : null;

/**
 * Compares the configured network with the chain. Returns one line for each fault, with the setting to change. Throws
 * RpcOutage or RpcRefusal when the node does not tell.
 */
export const findEvmFaults = async (chain: EvmChain, network: PaymentNetwork): Promise<string[]> => {
  const { asset, id, label, family } = network;
  const setting = `x402.networks.${id}`;
  const chainId = await chain.chainId();
  if (chainId !== BigInt(chainIdOf(id)))
    return [
      `the RPC serves chain ${chainId}, not ${chainIdOf(id)}; set ${family.settingPrefix}_RPC_URL or ${setting}.rpc_url to one of ${label}`,
    ];
  const named = `${asset.symbol} at ${asset.address}`;
  if ((await chain.getCode(asset.address)) === '0x')
    return [`${named} is no contract on ${label}; set ${setting}.asset.address`];
  const question: Question = { chain, network, asset, named, setting };
  const faults = await Promise.all([
    findDecimalsFault(question),
    findEip3009Fault(question),
    findDomainFault(question),
    findMissingContract(question, 'Permit2', permit2Contracts.permit2),
    findMissingContract(question, 'the Permit2 proxy of x402', permit2Contracts.proxy),
  ]);
  return faults.filter((fault) => fault !== null);
};
