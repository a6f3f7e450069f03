import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { domainSeparator, isHex, numberToHex, size, sliceHex, concatHex, type Address, type Hex } from 'viem';
import exactStandIn from './exact-permit2-proxy-stand-in.json' with { type: 'json' };
import uptoStandIn from './upto-permit2-proxy-stand-in.json' with { type: 'json' };

export const permit2Addresses: { permit2: Address; proxy: Address; uptoProxy: Address } = {
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
  uptoProxy: '0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002',
};

/** Where the code keeps the chain id and domain separator of its deployment: bytes from its start. */
const places = { chainId: 6945, domainSeparator: 6983 };
const wordBytes = 32;

const put = (code: Hex, at: number, word: Hex): Hex =>
  concatHex([sliceHex(code, 0, at), word, sliceHex(code, at + wordBytes)]);

/** Uniswap's Permit2 as OP-stack chains carry it from their first block: a template with two places left open. */
const readTemplate = async (): Promise<Hex> => {
  const { resolve } = createRequire(import.meta.url);
  const file = resolve('@eth-optimism/contracts-bedrock/src/libraries/Preinstalls.sol');
  const source = await readFile(file, 'utf8');
  const code = `0x${/Permit2TemplateCode =\s*hex"([0-9a-f]+)"/.exec(source)?.[1] ?? ''}`;
  if (!isHex(code) || size(code) <= places.domainSeparator) throw new Error('Permit2’s code is not there');
  return code;
};

const readStandIn = ({ deployedBytecode }: { deployedBytecode: string }): Hex => {
  if (!isHex(deployedBytecode)) throw new Error('the stand-in is no byte code');
  return deployedBytecode;
};

/** Permit2, the original code, and our stand-ins for x402's proxies, at their addresses. */
export const readPermit2Contracts = async (
  chainId: number,
): Promise<{ address: Address; bytecode: Hex }[]> => {
  const template = await readTemplate();
  const { permit2, proxy, uptoProxy } = permit2Addresses;
  const separator = domainSeparator({ domain: { name: 'Permit2', chainId, verifyingContract: permit2 } });
  const withChainId = put(template, places.chainId, numberToHex(chainId, { size: wordBytes }));
  return [
    { address: permit2, bytecode: put(withChainId, places.domainSeparator, separator) },
    { address: proxy, bytecode: readStandIn(exactStandIn) },
    { address: uptoProxy, bytecode: readStandIn(uptoStandIn) },
  ];
};
