import { describe, expect, it } from 'vitest';
import { measureClasses } from '../../../bench/leads/measure/measure-classes.ts';
import { spreadOf } from '../../../bench/leads/measure/statistics.ts';

describe('the spread of times', () => {
  it('tells percentiles that were measured, by nearest rank', () => {
    const times = Array.from({ length: 200 }, (_, place) => 200 - place);
    expect(spreadOf(times)).toEqual({ count: 200, p50: 100, p99: 198, max: 200, mean: 100.5 });
    expect(spreadOf([3])).toEqual({ count: 1, p50: 3, p99: 3, max: 3, mean: 3 });
  });

  it('is none without times', () => {
    expect(spreadOf([])).toBeNull();
  });
});

describe('the measuring of classes', () => {
  it('asks each query once cold and as often as wanted warm, the classes in turn', async () => {
    const asked: number[] = [];
    const classes = [
      { name: 'one', queries: [{ limit: 1 }, { limit: 2 }] },
      { name: 'other', queries: [{ limit: 10 }, { limit: 20 }] },
    ];
    const figures = await measureClasses({
      search: async ({ limit }) => {
        asked.push(limit);
        return [];
      },
      classes,
      warmPasses: 2,
      classBudgetMs: 1000,
    });
    expect(asked).toEqual([1, 10, 2, 20, 1, 10, 2, 20, 1, 10, 2, 20]);
    expect(figures.map(({ name, cold, warm }) => [name, cold.count, warm.count])).toEqual([
      ['one', 2, 4],
      ['other', 2, 4],
    ]);
  });

  it('gives a class up whose time is over, and goes on with the others', async () => {
    const classes = [
      { name: 'slow', queries: [{ limit: 1 }, { limit: 2 }, { limit: 3 }] },
      { name: 'fast', queries: [{ limit: 10 }, { limit: 20 }, { limit: 30 }] },
    ];
    const stand = (milliseconds: number): void => {
      const startedMs = performance.now();
      while (performance.now() - startedMs < milliseconds);
    };
    const figures = await measureClasses({
      search: async ({ limit }) => {
        if (limit < 10) stand(1_100);
        return [];
      },
      classes,
      warmPasses: 1,
      classBudgetMs: 1_000,
    });
    expect(figures.map(({ cold, warm }) => [cold.count, warm.count])).toEqual([
      [1, 1],
      [3, 3],
    ]);
  });
});
