import { describe, expect, it } from 'vitest';
import { defaultModels } from '../../src/accounts/catalog/default-models.ts';
import type { ModelConfig } from '../../src/accounts/catalog/model.ts';
import { readConfig } from '../../src/config/config.ts';
import { parseUsd } from '../../src/kit/money.ts';
import { getBalance } from '../../src/operations/account/get-balance.ts';
import type { Services } from '../../src/operations/call.ts';
import { createOperations } from '../../src/operations/index.ts';
import { createSearchLeads } from '../../src/operations/search/search-leads.ts';
import { describeSales } from '../../src/gateway/describe-sales.ts';
import { describeSale } from '../payments/wire/sale.ts';

const search = createSearchLeads({
  pricing: 'dynamic',
  maxLimit: 100,
  isOn: true,
  chargeEmpty: true,
  costsMoney: false,
  fromBalance: false,
  ratePerMinute: 60,
  syntheticProfiles: 1,
});

describe('the description of the search', () => {
  it('has examples that the search takes and answers', () => {
    const { inputExample, outputExample } = describeSale();
    expect(search.input.parse(inputExample)).toMatchObject(inputExample);
    expect(search.output.parse(outputExample)).toEqual(outputExample);
  });

  it('has every parameter, and the largest limit of the settings', () => {
    const { inputSchemas } = describeSale({ SEARCH_MAX_LIMIT: '50' });
    const properties = inputSchemas.rest['properties'] as Record<string, unknown>;
    expect(Object.keys(properties)).toEqual(search.rest.query);
    expect(properties['limit']).toMatchObject({ type: 'integer', minimum: 1, maximum: 50 });
  });

  it('has the argument idempotency_key over MCP alone, as REST has a header for it', () => {
    const { inputSchemas } = describeSale({ SEARCH_FROM_BALANCE: 'on' });
    const { idempotency_key: key, ...others } = Object(inputSchemas.mcp['properties']);
    expect(key).toMatchObject({ type: 'string' });
    expect(inputSchemas.rest['properties']).toEqual(others);
  });

  it.each([
    [{}, '0.10', '0.26'],
    [{ SEARCH_MAX_LIMIT: '50' }, '0.10', '0.16'],
    [{ SEARCH_PRICING: 'flat' }, '0.50', '0.50'],
  ])('with %j costs from %s to %s', (environment, least, most) => {
    expect(describeSale(environment).price()).toEqual({ least: parseUsd(least), most: parseUsd(most) });
  });

  it('is none where nothing is sold call by call', () => {
    const services = () => ({}) as Services;
    expect(describeSales([getBalance], { serviceName: 'Causeway', services })).toEqual([]);
  });
});

describe('the example of a call that needs a model', () => {
  const image = createOperations(readConfig({}, null).search, undefined, { isOn: true }).filter(
    ({ name }) => name === 'create_image',
  );
  const exampleWith = (models: readonly ModelConfig[]) =>
    describeSales(image, { serviceName: 'Causeway', models, services: () => ({}) as Services })[0]
      ?.inputExample;
  const sold = defaultModels();

  it('is as documented where its SKU is sold', () => {
    expect(exampleWith(sold)).toMatchObject({ model: 'imagemodel-1.0' });
  });

  it('names a SKU that is sold in place of one that is not', () => {
    const others = sold.map((model) => ({ ...model, sku: `my-${model.sku}` }));
    expect(exampleWith(others)).toMatchObject({ model: 'my-imagemodel-1.0', prompt: expect.any(String) });
  });
});
