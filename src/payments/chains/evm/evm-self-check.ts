import { domainSeparator, parseAbi, zeroAddress, zeroHash, type Hex } from 'viem';
import { instead } from '../../../kit/errors.ts';
import type { PaymentNetwork } from '../core/network-family.ts';
import { chainIdOf, isRevert, type EvmChain } from './evm-chain.ts';
import { eip3009Abi } from './evm-authorization.ts';
import { isSameHex, permit2Contracts } from './evm-payload.ts';
import { readContract, UnreadableAnswer } from './evm-token.ts';

const tokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
]);

const ifKnown = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch(instead(null, (error) => isRevert(error) || error instanceof UnreadableAnswer));

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

/** As `NetworkFamily.findFaults`. Throws RpcOutage or RpcRefusal when the node does not tell. */
export const findEvmFaults = async (chain: EvmChain, network: PaymentNetwork): Promise<string[]> => {
  const { id, label, family } = network;
  const { address, symbol, decimals, eip712, transfer } = network.asset;
  const setting = `x402.networks.${id}`;
  const chainId = chainIdOf(id);
  const served = await chain.chainId();
  if (served !== BigInt(chainId))
    return [
      `the RPC serves chain ${served}, not ${chainId}; set ${family.settingPrefix}_RPC_URL or ${setting}.rpc_url to one of ${label}`,
    ];
  const named = `${symbol} at ${address}`;
  if ((await chain.getCode(address)) === '0x')
    return [`${named} is no contract on ${label}; set ${setting}.asset.address`];

  const findDecimalsFault = async (): Promise<string | null> => {
    const read = { address, abi: tokenAbi, functionName: 'decimals', args: [] } as const;
    const known = await ifKnown(readContract(chain, read));
    return known === decimals
      ? null
      : `${named} has ${known ?? 'no'} decimals, not ${decimals}; set ${setting}.asset.decimals`;
  };
  const findEip3009Fault = async (): Promise<string | null> => {
    if (transfer !== 'eip3009') return null;
    const read = { address, abi: eip3009Abi, functionName: 'authorizationState' } as const;
    const state = await ifKnown(readContract(chain, { ...read, args: [zeroAddress, zeroHash] }));
    return state === null ? `${named} has no ERC-3009; set ${setting}.asset with transfer: permit2` : null;
  };
  const findDomainFault = async (): Promise<string | null> => {
    if (eip712 === null) return null;
    const { name, version } = eip712;
    const domain = { name, version, chainId, verifyingContract: `0x${address.slice(2)}` } as const;
    return (await mayHaveDomain(chain, domain))
      ? null
      : `${named} is not signed for as "${name}", version "${version}"; set ${setting}.asset.eip712`;
  };
  const findMissing = async (name: string, contract: string): Promise<string | null> =>
    transfer === 'permit2' && (await chain.getCode(contract)) === '0x'
      ? `${name} is not at ${contract} on ${label}; set ${setting}.asset to a token with ERC-3009`
      : null;

  const faults = await Promise.all([
    findDecimalsFault(),
    findEip3009Fault(),
    findDomainFault(),
    findMissing('Permit2', permit2Contracts.permit2),
    findMissing('the Permit2 proxy of x402', permit2Contracts.proxy),
  ]);
  return faults.filter((fault) => fault !== null);
};
