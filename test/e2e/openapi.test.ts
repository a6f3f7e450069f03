import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operations } from '../operations/test-operations.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

interface Document {
  openapi: string;
  info: { version: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, PathItem>>;
  components: { schemas: Record<string, object> };
}

interface PathItem {
  operationId: string;
  parameters: { name: string; in: string; schema: { maximum?: number } }[];
  responses: Record<string, object>;
}

let gateway: TestGateway;
let document: Document;

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { SEARCH_MAX_LIMIT: '50' } });
  document = (await (await gateway.call('/openapi.json', { apiKey: null })).json()) as Document;
});

afterAll(async () => {
  await gateway.stop();
});

describe('the interface description', () => {
  it('is OpenAPI 3.1 in version 0.1.0.2, at our own address', () => {
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { version: '0.1.0.2' },
      servers: [{ url: gateway.url }],
    });
  });

  it('has every operation at its path and method', () => {
    for (const { name, rest } of operations)
      expect(document.paths[rest.path]?.[rest.method.toLowerCase()]).toMatchObject({ operationId: name });
  });

  it('documents every error code of an operation by its status', () => {
    const search = document.paths['/v1/search']?.['get'];
    expect(Object.keys(search?.responses ?? {})).toEqual(
      expect.arrayContaining(['200', '400', '402', '409', '422', '429', '500', '502', '503']),
    );
  });

  it('shows the largest limit as configured, and the gateway keeps to it', async () => {
    const limit = document.paths['/v1/search']?.['get']?.parameters.find(({ name }) => name === 'limit');
    expect(limit?.schema.maximum).toBe(50);
    expect((await gateway.call('/v1/search?limit=51', { apiKey: null })).status).toBe(422);
  });

  it("describes the PAYMENT-REQUIRED header from x402's own schema", () => {
    expect(document.components.schemas['PaymentRequiredHeader']).toMatchObject({
      type: 'object',
      required: expect.arrayContaining(['x402Version', 'resource', 'accepts']),
    });
  });

  it('resolves every reference that it makes', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(0);
    for (const [, reference = ''] of references) {
      expect(reference).toMatch(/^#\/components\//);
      expect(document).toHaveProperty(reference.slice(2).split('/'));
    }
  });
});
