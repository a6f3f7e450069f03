interface ClientLibrary {
  packages: string;
  imports: readonly string[];
  /** Makes `signer` from a key in the environment. */
  signer: string;
  scheme: string;
}

const evm: ClientLibrary = {
  packages: '@x402/fetch @x402/evm viem',
  imports: [
    "import { ExactEvmScheme } from '@x402/evm/exact/client';",
    "import { privateKeyToAccount } from 'viem/accounts';",
  ],
  signer: 'const signer = privateKeyToAccount(process.env.EVM_PRIVATE_KEY);',
  scheme: 'ExactEvmScheme',
};

const solana: ClientLibrary = {
  packages: '@x402/fetch @x402/svm @solana/kit',
  imports: [
    "import { ExactSvmScheme } from '@x402/svm/exact/client';",
    "import { createKeyPairSignerFromBytes, getBase58Encoder } from '@solana/kit';",
  ],
  signer:
    'const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(process.env.SOLANA_SECRET_KEY));',
  scheme: 'ExactSvmScheme',
};

/**
 * Writes a program (an ES module) that gets `url` and pays for it on `network` (CAIP-2) with the official x402 client.
 * Texts from outside are string literals in it.
 */
export const paywallSnippet = ({ url, network }: { url: string; network: string }): string => {
  const { packages, imports, signer, scheme } = network.startsWith('solana:') ? solana : evm;
  return [
    `// npm install ${packages}`,
    "import { wrapFetchWithPaymentFromConfig } from '@x402/fetch';",
    ...imports,
    '',
    signer,
    'const payingFetch = wrapFetchWithPaymentFromConfig(fetch, {',
    `  schemes: [{ network: ${JSON.stringify(network)}, client: new ${scheme}(signer) }],`,
    '});',
    `const response = await payingFetch(${JSON.stringify(url)});`,
    'console.log(await response.json());',
  ].join('\n');
};
