import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineView, exampleOf, like, toPage } from '../../src/operations/view.ts';

interface Boat {
  name: string;
  lengthMm: number;
  owner: string | null;
}

const boatView = defineView<Boat, { harbour: string }>({ owner: 'Null: nobody.' })({
  name: [z.string(), 'name', 'Möwe'],
  length_m: [z.number(), ({ lengthMm }) => lengthMm / 1_000, 7.5],
  owner: [z.string().nullable(), 'owner', null],
  at: [z.string(), (_boat, { harbour }) => harbour, 'Kiel'],
});

test('a view shows a thing by its members, and by what else is needed', () => {
  const boat = { name: 'Albatros', lengthMm: 9_250, owner: 'Jane', rotten: true };
  const shown = boatView.show(boat, { harbour: 'Rostock' });
  expect(shown).toEqual({ name: 'Albatros', length_m: 9.25, owner: 'Jane', at: 'Rostock' });
  expect(boatView.schema.parse(shown)).toEqual(shown);
  expect(boatView.schema.safeParse({ ...shown, colour: 'blue' }).success).toBe(false);
});

test('a text describes its member, also in a view that has the member of another', () => {
  const other = defineView<Boat, { harbour: string }>()({ ...boatView.members });
  for (const { schema } of [boatView, other]) {
    expect(schema.shape.owner.description).toBe('Null: nobody.');
    expect(schema.shape.name.description).toBeUndefined();
  }
});

test('a text that describes no member is a fault of the program', () => {
  expect(() => defineView<Boat>({ nam: 'Its name.' })({ name: [z.string(), 'name', 'Möwe'] })).toThrow('nam');
});

test('an example of an answer is made of those of its parts', () => {
  const answer = z.strictObject({
    boats: z.array(boatView.schema),
    first: boatView.schema,
    count: like(z.int(), 3),
    has_more: z.boolean(),
    weather: z.string().optional(),
  });
  const example = { name: 'Möwe', length_m: 7.5, owner: null, at: 'Kiel' };
  expect(exampleOf(answer)).toEqual({ boats: [example], first: example, count: 3, has_more: false });
});

test('a page has as many items as were asked for, and tells of more', () => {
  const show = (name: string) => ({ name });
  const page = (found: string[]) => toPage('boats', found, { limit: 2, show });
  expect(page(['a', 'b', 'c'])).toEqual({ boats: [{ name: 'a' }, { name: 'b' }], has_more: true });
  expect(page(['a', 'b'])).toEqual({ boats: [{ name: 'a' }, { name: 'b' }], has_more: false });
});
