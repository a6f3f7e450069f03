import { expect, it } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';
import { createOperations } from '../../../src/operations/index.ts';
import { createOpenApi } from '../../../src/rest/openapi.ts';

interface Described {
  security: object[];
  responses: Record<string, { headers?: object; content?: object }>;
}

const { search } = readConfig({}, null);
const { paths } = createOpenApi({
  operations: createOperations(
    { ...search, isOn: true, fromBalance: true },
    { takesVideoWebhooks: false },
    { isOn: true },
  ),
  publicUrl: 'https://gateway.example.com',
  title: 'Causeway',
  protocols: ['x402'],
  paymentRequiredSchema: {},
}) as { paths: Record<string, Record<string, Described>> };

it('a sign-in needs no API key, and does not refuse one that is wrong', () => {
  const described = paths['/v1/auth/wallet']?.['post'];
  expect(described?.security).toEqual([]);
  expect(JSON.stringify(described?.responses['401'])).not.toContain('invalid_api_key');
});

it('a search that is late says when to try again', () => {
  expect(Object.keys(paths['/v1/search']?.['get']?.responses['502']?.headers ?? {})).toContain('Retry-After');
});

it('a search that is paid from the balance says what it was charged', () => {
  const { headers = {} } = paths['/v1/search']?.['get']?.responses['200'] ?? {};
  expect(Object.keys(headers).join(' ').toLowerCase()).toMatch(/-charge-usd.*-balance-usd/);
});
