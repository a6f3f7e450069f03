import type { Json } from '../../kit/json.ts';

interface CurlCall {
  method: string;
  url: string;
  /** Whether an API key is sent. */
  hasKey: boolean;
  body?: Json | undefined;
}

/** Writes a call as a command of several lines for a shell. The API key is a variable of it. */
export const curlCommand = ({ method, url, hasKey, body }: CurlCall): string => {
  const verb = method.toUpperCase();
  return [
    `curl ${verb === 'GET' ? '' : `-X ${verb} `}"${url}"`,
    ...(hasKey ? ['  -H "Authorization: Bearer $CAUSEWAY_API_KEY"'] : []),
    ...(body === undefined
      ? []
      : [
          '  -H "Content-Type: application/json"',
          `  -d '${JSON.stringify(body, null, 2).replaceAll("'", String.raw`'\''`)}'`,
        ]),
  ].join(' \\\n');
};
