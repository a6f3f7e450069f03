import { useConsole } from '../use-console.ts';

interface SampleProps {
  /** Below the address of the gateway, such as `/v1/chat/completions`. */
  path: string;
  body: object;
  /** The method of the `openai` package. */
  method: string;
}

/** The same call for programs: curl, and the package `openai`. */
export const CodeSamples = ({ path, body, method }: SampleProps) => {
  const { base, brand } = useConsole();
  const address = location.origin + base;
  const name = `${brand.toUpperCase()}_API_KEY`;
  const text = JSON.stringify(body, null, 2);
  const curl = `curl ${address}${path} \\
  -H "Authorization: Bearer $${name}" \\
  -H "Content-Type: application/json" \\
  -d '${text.replaceAll("'", String.raw`'\''`)}'`;
  const code = `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: '${address}/v1', apiKey: process.env.${name} });
const answer = await client.${method}(${text});`;
  return (
    <details>
      <summary>The same call in a program</summary>
      <pre tabIndex={0} aria-label="curl">
        {curl}
      </pre>
      <pre tabIndex={0} aria-label="The package openai">
        {code}
      </pre>
    </details>
  );
};
