import { describe, expect, it } from 'vitest';
import { createCatalogs } from '../../../src/accounts/catalog/catalog.ts';
import { createModelShelf, modelsAt } from '../../../src/accounts/catalog/model-changes.ts';
import { defaultModels } from '../../../src/accounts/catalog/default-models.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import type { ModelChangeRow } from '../../../src/store/store.ts';

const models = defaultModels();
const sku = 'imagemodel-1.0';
const price = (usd: string) => ({ unit: 'call', price_usd: usd });
const sold = { on: true, price: price('0.04') };
const changeOf = (parts: Partial<ModelChangeRow>): ModelChangeRow => ({
  ...{ sku, version: 1, at: 0, until: Number.MAX_SAFE_INTEGER, price: null, isOff: false },
  ...{ before: sold, after: sold, changedBy: 'cli:me' },
  ...parts,
});
const callPrice = (usd: string) => ({ unit: 'call', price: parseUsd(usd) });

describe('models that operators changed', () => {
  const pricesAt = (at: number, ...changes: ModelChangeRow[]) =>
    modelsAt(models, changes, at).find((model) => model.sku === sku)?.price;

  it('are sold at the price of the change that held at the time', () => {
    const changes = [
      changeOf({ at: 10, until: 20, price: price('0.05') }),
      changeOf({ version: 2, at: 20, price: price('0.06') }),
    ];
    expect([9, 10, 19, 20].map((at) => pricesAt(at, ...changes))).toEqual(
      ['0.04', '0.05', '0.05', '0.06'].map(callPrice),
    );
  });

  it('are not sold when they are off, or at a price that is none of their kind', () => {
    expect(pricesAt(1, changeOf({ isOff: true }))).toBeUndefined();
    const bySecond = { unit: 'second', rates: [{ resolution: '720p', price_usd: '1' }] };
    expect(pricesAt(1, changeOf({ price: bySecond }))).toBeUndefined();
    expect(pricesAt(1, changeOf({ price: { unit: 'of a newer version' } }))).toBeUndefined();
    expect(modelsAt(models, [changeOf({ sku: 'gone', isOff: true })])).toEqual(models);
  });
});

describe('a gateway that follows the changes', () => {
  const start = () => {
    const now = { ms: 10_000_000 };
    const stored: ModelChangeRow[] = [];
    const realSales = { hasBegun: () => false, refresh: () => Promise.resolve() };
    const catalogs = createCatalogs(models, { isSandboxModel: () => true, realSales });
    const store = {
      listModelChanges: (since: number) => Promise.resolve(stored.filter(({ until }) => until > since)),
    };
    const { follow, restock } = createModelShelf(models, { store, catalogs, clock: { now: () => now.ms } });
    const priceIn = (all: Pick<typeof catalogs, 'for'>) =>
      all.for({ accountId: 'a', terms: null, isSandbox: true }).find(sku, 'image')?.price;
    const former = () => catalogs.former(now.ms).map(priceIn);
    return { now, stored, catalogs, store, follow, restock, priceIn, former };
  };

  it('sells at the new price, and knows the former one for as long as its quotes may be paid', async () => {
    const { now, stored, catalogs, follow, priceIn, former } = start();
    await follow();
    stored.push(changeOf({ at: now.ms, price: price('0.05') }));
    await follow();
    expect(priceIn(catalogs)).toEqual(callPrice('0.05'));
    expect(former()).toEqual([callPrice('0.04')]);
    now.ms += 8 * 60_000;
    expect(former()).toEqual([]);
    await follow();
    expect(priceIn(catalogs)).toEqual(callPrice('0.05'));
    expect(former()).toEqual([]);
    stored[0] = changeOf({ at: now.ms - 8 * 60_000, until: now.ms, price: price('0.05') });
    stored.push(changeOf({ version: 2, at: now.ms, isOff: true }));
    await follow();
    expect(priceIn(catalogs)).toBeUndefined();
    expect(former()).toEqual([callPrice('0.05')]);
  });

  it('is not led back to a former price by a read that was slow', async () => {
    const { now, stored, catalogs, store, follow, priceIn } = start();
    const slow = Promise.withResolvers<ModelChangeRow[]>();
    const read = store.listModelChanges;
    store.listModelChanges = () => slow.promise;
    const first = follow();
    await Promise.resolve();
    store.listModelChanges = read;
    stored.push(changeOf({ at: now.ms, price: price('0.05') }));
    const second = follow();
    slow.resolve([]);
    await Promise.all([first, second]);
    expect(priceIn(catalogs)).toEqual(callPrice('0.05'));
  });

  it('keeps what was quoted before other settings came, and no price that was never sold', async () => {
    const { now, stored, follow, restock, former } = start();
    await follow();
    now.ms += 1;
    stored.push(changeOf({ at: now.ms, price: price('0.05') }));
    await follow();
    now.ms += 1;
    const other = models.find((model) => model.sku === sku)!;
    restock([{ ...other, price: { unit: 'call', price: parseUsd('0.01') } }]);
    expect(former()).toEqual([callPrice('0.05'), callPrice('0.04')]);
  });

  it('still runs admitted jobs of a SKU that is off', async () => {
    const { stored, catalogs, follow } = start();
    stored.push(changeOf({ isOff: true }));
    await follow();
    expect(catalogs.mayRun(sku, { isSandbox: true })).toBe(true);
    expect(catalogs.mayRun('gone', { isSandbox: true })).toBe(false);
  });

  it('keeps one list of models until something changes, from which documents are made once', async () => {
    const { stored, catalogs, follow } = start();
    const list = () => catalogs.for({ accountId: 'a', terms: null, isSandbox: true }).list();
    stored.push(changeOf({ price: price('0.05') }));
    await follow();
    const first = list();
    await follow();
    expect(list()).toBe(first);
  });

  it('sells what other settings have, under the same changes, and knows what was quoted before', async () => {
    const { now, stored, catalogs, follow, restock, priceIn, former } = start();
    const other = models.find((model) => model.sku === sku)!;
    restock([{ ...other, price: { unit: 'call', price: parseUsd('0.09') } }]);
    expect(priceIn(catalogs)).toEqual(callPrice('0.09'));
    expect(former()).toEqual([callPrice('0.04')]);
    stored.push(changeOf({ at: now.ms, isOff: true }));
    await follow();
    expect(priceIn(catalogs)).toBeUndefined();
    expect(catalogs.mayRun('textmodel-3.1-pro', { isSandbox: true })).toBe(false);
    now.ms += 8 * 60_000;
    await follow();
    expect(former()).toEqual([]);
  });
});
