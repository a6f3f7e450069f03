import packageJson from '../../package.json' with { type: 'json' };
import type { JsonObject } from '../kit/json.ts';
import { namesOf, type ServiceDescription } from './describe-service.ts';

const schema = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';

/** The registry takes no longer descriptions. */
const maxDescription = 100;

/** Makes the `server.json` of the MCP registry, which operators may publish as it is. */
export const mcpServerDocument = ({ brand, title, url, goods }: ServiceDescription): JsonObject => ({
  $schema: schema,
  name: `${reverseHost(url)}/${brand}`,
  title,
  description: descriptionOf(goods),
  version: packageJson.version,
  websiteUrl: url,
  remotes: [
    {
      type: 'streamable-http',
      url: `${url}/mcp`,
      headers: [
        {
          name: 'Authorization',
          description: goods.length === 0 ? 'An API key.' : 'An API key. Paid calls need none.',
          isRequired: goods.length === 0,
          isSecret: true,
          value: 'Bearer {api_key}',
          variables: { api_key: { description: 'API key', isRequired: goods.length === 0, isSecret: true } },
        },
      ],
    },
  ],
});

const descriptionOf = (goods: ServiceDescription['goods']): string => {
  const whole = ['Makes images, video and text', ...namesOf(goods)].join(', ');
  const paid = `${whole}; paid by API key or x402`;
  return [goods.length === 0 ? whole : paid, whole].find(({ length }) => length <= maxDescription) ?? '';
};

/** Returns the namespace of a server: the host with its labels in reverse order. An address in numbers has none. */
const reverseHost = (url: string): string => {
  const { hostname } = new URL(url);
  return /[a-z]$/.test(hostname) ? hostname.split('.').toReversed().join('.') : 'localhost';
};
