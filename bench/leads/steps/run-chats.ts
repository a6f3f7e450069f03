import { withBench } from '../../gateway/bench.ts';
import { tokensOfAnswer, chat } from '../../gateway/workload.ts';
import { withKey } from '../../gateway/run-works.ts';
import type { LeadQuery } from '../../../src/leads/lead-source.ts';
import { openBenchEngine } from '../engines/open-bench-engine.ts';
import { createProfiles } from '../generate-profiles.ts';
import { measureThroughput } from '../measure/measure-throughput.ts';
import { hostileClasses } from '../queries/hostile-classes.ts';
import { makeQueries } from '../queries/query-classes.ts';
import type { ChatFigures, Step } from './step.ts';

const chatCallers = 4;
const queriesPerClass = 20;

/** Chats on a gateway with these profiles, alone and beside callers that count the matches of hostile searches. */
export const runChats = async ({
  engine: name,
  place,
  plan: { throughputMs: durationMs, callers },
}: Extract<Step, { kind: 'chats' }>): Promise<ChatFigures> => {
  const engine = await openBenchEngine(name);
  const profiles = createProfiles(place.seed);
  const queries = hostileClasses.flatMap((queryClass) =>
    makeQueries({ queryClass, profiles, profileCount: place.profileCount, count: queriesPerClass }),
  );
  // A kept page would cost nothing.
  const environment = { ...engine.environment(place), LEADS_CACHE_SECONDS: '0' };
  const settings = { environment, rounds: 1, seconds: durationMs / 1000, say: () => undefined };
  return withBench(settings, async ({ gateway, site }) => {
    const { path, ...request } = withKey(chat('at-once', false), site.apiKey);
    const chats = () =>
      measureThroughput({
        call: async () => {
          const response = await fetch(gateway.url + path, request);
          const text = await response.text();
          if (!text.includes(`"completion_tokens":${tokensOfAnswer}`))
            throw new Error(`A chat failed: ${text}`);
          return true;
        },
        inputs: [null],
        callers: chatCallers,
        durationMs,
      });
    const searches = () =>
      measureThroughput({
        call: async (query) => {
          const response = await fetch(`${gateway.url}/v1/search?${toParameters(query)}`);
          const text = await response.text();
          if (response.status !== 200 && response.status !== 502) throw new Error(`A search failed: ${text}`);
          return response.status === 200;
        },
        inputs: queries,
        callers,
        durationMs,
      });
    await chats();
    const alone = await chats();
    const [beside, hostile] = await Promise.all([chats(), searches()]);
    return { alone, beside, hostile };
  });
};

const toParameters = ({
  query,
  country,
  category,
  gender,
  minFollowers,
  maxFollowers,
}: LeadQuery): string => {
  const given = {
    query,
    country,
    category,
    gender,
    min_followers: minFollowers,
    max_followers: maxFollowers,
  };
  const present = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  return new URLSearchParams([...present, ['count_only', 'true']]).toString();
};
