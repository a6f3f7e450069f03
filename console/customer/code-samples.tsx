import { useConsole } from '../use-console.ts';

interface SampleProps {
  /** Below the address of the gateway, such as `/v1/chat/completions`. */
  path: string;
  /** Absent: the call is a GET. */
  body?: object;
  /** The method of the `openai` package; absent: it has none for this. */
  method?: string;
}

const curlOf = (address: string, key: string, text: string | undefined): string =>
  [
    `curl '${address}'`,
    `  -H "Authorization: Bearer $${key}"`,
    ...(text === undefined
      ? []
      : [`  -H "Content-Type: application/json"`, `  -d '${text.replaceAll("'", String.raw`'\''`)}'`]),
  ].join(' \\\n');

const fetchOf = (address: string, key: string, text: string | undefined): string =>
  `const answer = await fetch('${address}', {
  headers: {
    authorization: \`Bearer \${process.env.${key}}\`,${
      text === undefined ? '' : `\n    'content-type': 'application/json',`
    }
  },${text === undefined ? '' : `\n  method: 'POST',\n  body: JSON.stringify(${text}),`}
});
console.log(await answer.json());`;

const openaiOf = (address: string, key: string, method: string, text: string | undefined): string =>
  `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${address}/v1', apiKey: process.env.${key} });
const answer = await client.${method}(${text ?? ''});`;

/** The same call for programs: curl, and the package `openai` where it has the call. */
export const CodeSamples = ({ path, body, method }: SampleProps) => {
  const { base, brand } = useConsole();
  const address = location.origin + base;
  const key = `${brand.toUpperCase()}_API_KEY`;
  const text = body === undefined ? undefined : JSON.stringify(body, null, 2);
  return (
    <details>
      <summary>The same call in a program</summary>
      <pre tabIndex={0} aria-label="curl">
        {curlOf(address + path, key, text)}
      </pre>
      <pre tabIndex={0} aria-label={method === undefined ? 'fetch' : 'The package openai'}>
        {method === undefined ? fetchOf(address + path, key, text) : openaiOf(address, key, method, text)}
      </pre>
    </details>
  );
};
