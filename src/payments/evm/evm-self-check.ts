import {
  decodeFunctionResult,
  domainSeparator,
  encodeFunctionData,
  parseAbi,
  zeroAddress,
  zeroHash,
  type Hex,
} from 'viem';
import type { PaymentAsset, PaymentNetwork } from '../core/network-family.ts';
import { chainIdOf, isRevert, type EvmChain } from './evm-chain.ts';
import { isSameHex, permit2Contracts } from './evm-payload.ts';

const tokenAbi = parseAbi([
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
]);

/** Calls a token. Null when it has no such function, or answers with bytes that `decode` cannot read. */
type ReadToken = <T>(data: Hex, decode: (answer: Hex) => T) => Promise<T | null>;

const createReadToken =
  (chain: EvmChain, address: string): ReadToken =>
  async (data, decode) => {
    let answer: Hex;
    try {
      answer = await chain.call({ to: address, data });
    } catch (error) {
      if (isRevert(error)) return null;
      throw error;
    }
    try {
      return answer === '0x' ? null : decode(answer);
    } catch {
      return null;
    }
  };

const readDecimals = (read: ReadToken): Promise<number | null> => {
  const call = { abi: tokenAbi, functionName: 'decimals' } as const;
  return read(encodeFunctionData(call), (data) => decodeFunctionResult({ ...call, data }));
};

const takesEip3009 = async (read: ReadToken): Promise<boolean> => {
  const args = [zeroAddress, zeroHash] as const;
  const data = encodeFunctionData({ abi: tokenAbi, functionName: 'authorizationState', args });
  return (await read(data, (answer) => answer)) !== null;
};

interface Domain {
  name: string;
  version: string;
  chainId: number;
  verifyingContract: Hex;
}

/** Tells whether buyers sign under the token's own domain; null when the token does not tell its domain. */
const hasDomain = async (read: ReadToken, domain: Domain): Promise<boolean | null> => {
  const separator = await read(
    encodeFunctionData({ abi: tokenAbi, functionName: 'DOMAIN_SEPARATOR' }),
    (answer) => answer,
  );
  if (separator !== null) return isSameHex(separator, domainSeparator({ domain }));
  const call = { abi: tokenAbi, functionName: 'eip712Domain' } as const;
  const told = await read(encodeFunctionData(call), (data) => decodeFunctionResult({ ...call, data }));
  if (told === null) return null;
  const [, name, version, chainId, verifyingContract] = told;
  return (
    name === domain.name &&
    version === domain.version &&
    chainId === BigInt(domain.chainId) &&
    isSameHex(verifyingContract, domain.verifyingContract)
  );
};

const findSigningFaults = async (
  chain: EvmChain,
  { asset, chainId, setting }: { asset: PaymentAsset; chainId: number; setting: string },
): Promise<string[]> => {
  const read = createReadToken(chain, asset.address);
  const named = `${asset.symbol} at ${asset.address}`;
  const faults: string[] = [];
  if (asset.transfer === 'eip3009' && !(await takesEip3009(read)))
    faults.push(`${named} has no ERC-3009; set ${setting}.asset with transfer: permit2`);
  if (asset.eip712 !== null) {
    const verifyingContract: Hex = `0x${asset.address.slice(2)}`;
    if ((await hasDomain(read, { ...asset.eip712, chainId, verifyingContract })) === false)
      faults.push(
        `${named} is not signed for as "${asset.eip712.name}", version "${asset.eip712.version}"; set ` +
          `${setting}.asset.eip712`,
      );
  }
  return faults;
};

const findPermit2Faults = async (chain: EvmChain, network: PaymentNetwork): Promise<string[]> => {
  if (network.asset.transfer !== 'permit2') return [];
  const needed = [
    ['Permit2', permit2Contracts.permit2],
    ['the Permit2 proxy of x402', permit2Contracts.proxy],
  ] as const;
  const codes = await Promise.all(needed.map(([, address]) => chain.getCode(address)));
  return needed.flatMap(([name, address], index) =>
    codes[index] === '0x'
      ? [
          `${name} is not at ${address} on ${network.label}; set x402.networks.${network.id}.asset to a token with ERC-3009`,
        ]
      : [],
  );
};

/**
 * Compares the configured network with the chain. Returns one line for each fault, with the setting to change. Throws
 * RpcOutage or RpcRefusal when the node does not tell.
 */
export const findEvmFaults = async (chain: EvmChain, network: PaymentNetwork): Promise<string[]> => {
  const { asset, id, label } = network;
  const setting = `x402.networks.${id}`;
  const chainId = chainIdOf(id);
  const actualChainId = await chain.chainId();
  if (actualChainId !== BigInt(chainId))
    return [
      `the RPC serves chain ${actualChainId}, not ${chainId}; set ${network.family.settingPrefix}_RPC_URL or ${setting}.rpc_url to one of ${label}`,
    ];
  if ((await chain.getCode(asset.address)) === '0x')
    return [`${asset.symbol} at ${asset.address} is no contract on ${label}; set ${setting}.asset.address`];
  const [decimals, signing, permit2] = await Promise.all([
    readDecimals(createReadToken(chain, asset.address)),
    findSigningFaults(chain, { asset, chainId, setting }),
    findPermit2Faults(chain, network),
  ]);
  const hasDecimals = decimals === asset.decimals;
  return [
    ...(hasDecimals
      ? []
      : [
          `${asset.symbol} at ${asset.address} has ${decimals ?? 'no'} decimals, not ${asset.decimals}; set ` +
            `${setting}.asset.decimals`,
        ]),
    ...signing,
    ...permit2,
  ];
};
