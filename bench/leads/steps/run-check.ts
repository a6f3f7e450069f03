import { isDeepStrictEqual } from 'node:util';
import { createReferenceSearch } from '../../../test/leads/reference-search.ts';
import { openBenchEngine } from '../engines/open-bench-engine.ts';
import { createProfiles, firstProfiles } from '../generate-profiles.ts';
import { makeQueries, queryClasses } from '../queries/query-classes.ts';
import type { Step, StepResults } from './step.ts';

const maxDifferencesTold = 10;

/** Loads few profiles, compares some queries of every class with the plain scan, and removes them again. */
export const runCheck = async ({
  engine: name,
  place,
  queriesPerClass,
}: Extract<Step, { kind: 'check' }>): Promise<StepResults['check']> => {
  const profiles = createProfiles(place.seed);
  const reference = createReferenceSearch([...firstProfiles(profiles, place.profileCount)]);
  const queries = queryClasses.flatMap((queryClass) =>
    makeQueries({ queryClass, profiles, profileCount: place.profileCount, count: queriesPerClass }),
  );
  const expected = queries.map(reference);
  const engine = await openBenchEngine(name);
  const different: string[] = [];
  try {
    await engine.load(place);
    for (const [access, open] of Object.entries(engine.open)) {
      const opened = await open(place);
      for (const [index, query] of queries.entries()) {
        const found = await opened.search(query);
        if (different.length < maxDifferencesTold && !isDeepStrictEqual(found, expected[index]))
          different.push(`${name}, ${access}: ${JSON.stringify(query)}`);
      }
      await opened.close();
    }
  } finally {
    await engine.remove(place);
  }
  return { compared: queries.length, different };
};
