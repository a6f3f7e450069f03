import {
  extractDiscoveryInfo,
  isValidServiceName,
  sanitizeTags,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
} from '@x402/extensions/bazaar';
import { describe, expect, it, vi } from 'vitest';
import { bazaar, createSoldResources, declareExtensions } from '../../../src/payments/wire/sold-resources.ts';
import type { Extension } from '../../../src/payments/chains/core/wire.ts';
import { describeSale } from './sale.ts';

const sale = describeSale();
const declared = declareExtensions(sale);
const bazaarOf = (place: 'rest' | 'mcp'): Extension => {
  const extension = declared[place][bazaar];
  if (extension === undefined) throw new Error('not declared');
  return extension;
};

describe.each(['rest', 'mcp'] as const)('what is declared over %s', (place) => {
  it('is accepted by the validators of the x402 package', () => {
    expect(validateDiscoveryExtensionSpec(bazaarOf(place) as never)).toEqual({ valid: true });
    expect(validateDiscoveryExtension(bazaarOf(place) as never)).toEqual({ valid: true });
  });

  it('names the dialect of its schema, and refers to nothing outside', () => {
    const { schema } = bazaarOf(place);
    expect(schema['$schema']).toBe('https://json-schema.org/draft/2020-12/schema');
    expect(JSON.stringify(schema)).not.toMatch(/\$ref|\$id/);
  });

  it('is refused by them once another tool or method is written into it', () => {
    const { info, schema } = structuredClone(bazaarOf(place));
    const input = { ...(info['input'] as object), type: 'other' };
    expect(validateDiscoveryExtension({ info: { ...info, input }, schema } as never).valid).toBe(false);
  });
});

describe('a facilitator that catalogues', () => {
  const catalogued = (place: 'rest' | 'mcp', url: string) =>
    extractDiscoveryInfo(
      {
        x402Version: 2,
        resource: { url, serviceName: sale.serviceName, tags: [...sale.tags] },
        extensions: declared[place],
      } as never,
      {} as never,
    );

  it('reads a GET with query parameters', () => {
    const warn = vi.spyOn(console, 'warn');
    expect(catalogued('rest', 'https://leads.example/v1/search')).toMatchObject({
      resourceUrl: 'https://leads.example/v1/search',
      method: 'GET',
      serviceName: 'Causeway',
      tags: ['influencers', 'leads', 'search'],
      discoveryInfo: { input: { type: 'http', queryParams: sale.inputExample } },
    });
    expect(warn).not.toHaveBeenCalled();
  });

  it('reads a tool with the schema that its server lists', () => {
    expect(catalogued('mcp', 'https://leads.example/mcp')).toMatchObject({
      resourceUrl: 'https://leads.example/mcp',
      toolName: 'search_leads',
      discoveryInfo: {
        input: { type: 'mcp', transport: 'streamable-http', inputSchema: sale.inputSchemas.mcp },
        output: { type: 'json', example: sale.outputExample },
      },
    });
  });

  it('keeps the name and the tags of the service as they are', () => {
    expect(isValidServiceName(sale.serviceName)).toBe(true);
    expect(sanitizeTags(sale.tags)).toEqual(sale.tags);
  });
});

describe('a sale that is no tool', () => {
  it('declares payment identifiers alone over MCP', () => {
    const { rest, mcp } = declareExtensions({ ...sale, toolName: null });
    expect([Object.keys(rest), Object.keys(mcp)]).toEqual([
      ['payment-identifier', 'bazaar'],
      ['payment-identifier'],
    ]);
  });
});

describe('a sale by POST', () => {
  it('declares its body in a form that the validators of the x402 package accept', () => {
    const { [bazaar]: extension } = declareExtensions({ ...sale, method: 'POST' }).rest;
    expect(validateDiscoveryExtensionSpec(extension as never)).toEqual({ valid: true });
    expect(validateDiscoveryExtension(extension as never)).toEqual({ valid: true });
    expect(extension?.info).toMatchObject({ input: { method: 'POST', body: sale.inputExample } });
  });
});

describe('a sale whose path has parameters', () => {
  const url = 'https://shop.example';
  const calls = { ...sale, path: '/v1/tools/{server}/{tool}', toolName: null, method: 'POST' as const };
  const resources = createSoldResources([sale, calls], () => url);

  it('is at the address of each call', () => {
    const over = { sale: calls.name, transport: 'rest' as const };
    const { resource } = resources.find({ ...over, path: '/v1/tools/a/b' });
    expect(resource).toEqual({ ...resources.find(over).resource, url: `${url}/v1/tools/a/b` });
  });

  it('is catalogued at each address of its calls, and at no other', () => {
    const declaredAt = (path: string) =>
      resources.declaredFor({ url: url + path, description: calls.descriptions.real });
    expect(declaredAt('/v1/tools/a/b')).toEqual(declareExtensions(calls).rest);
    expect(declaredAt('/mcp/tools')).toBeNull();
    expect(declaredAt('/v1/tools/a/b/c')).toBeNull();
  });
});
