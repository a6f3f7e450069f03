import { findFamily } from '../chains/families.ts';

/**
 * Writes a program (an ES module) that gets `url` and pays for it on `network` (CAIP-2) with the official x402 client.
 * Texts from outside stand in it as string literals. Empty for a network of no known family.
 */
export const clientSnippet = ({ url, network }: { url: string; network: string }): string => {
  const client = findFamily(network)?.client;
  if (client === undefined) return '';
  const { packages, imports, signer, scheme } = client;
  return [
    `// npm install @x402/fetch ${packages}`,
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
