import type { Model } from '../answers.ts';
import { toWords } from '../format.ts';
import { Choice, Shown, Title } from '../parts/parts.tsx';
import { usePlace } from '../router.tsx';
import { useLoad } from '../use-console.ts';
import { ChatTrial } from './chat-trial.tsx';
import { ImageTrial, VideoTrial } from './media-trials.tsx';
import { SearchTrial } from './search-trial.tsx';

const trials = { chat: ChatTrial, image: ImageTrial, video: VideoTrial } as const;
const kinds = ['chat', 'image', 'video', 'search'] as const;

/** Tries a kind of models. */
const ModelTrial = ({ kind }: { kind: keyof typeof trials }) => {
  const { query, setQuery } = usePlace();
  const loaded = useLoad<{ data: Model[] }>('v1/models');
  const Trial = trials[kind];
  return (
    <Shown loaded={loaded}>
      {({ data }) => {
        const skus = data.filter((model) => model.kind === kind).map(({ id }) => id);
        const model = skus.find((sku) => sku === query.get('model')) ?? skus[0];
        if (model === undefined) return <p class="none">This key can buy no such model.</p>;
        return (
          <>
            <div
              class="ask"
              onInput={(event) => setQuery({ model: (event.target as HTMLSelectElement).value })}
            >
              <Choice name="model" label="Model" value={model} options={skus} />
            </div>
            <Trial model={model} />
          </>
        );
      }}
    </Shown>
  );
};

/** Calls the gateway as programs do. Each call is charged. */
export const Playground = () => {
  const { query, setQuery } = usePlace();
  const kind = kinds.find((one) => one === query.get('kind')) ?? 'chat';
  return (
    <>
      <Title>Playground</Title>
      <div class="row" role="group" aria-label="What to try">
        {kinds.map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={one === kind}
            onClick={() => setQuery({ kind: one, model: null })}
          >
            {toWords(one)}
          </button>
        ))}
      </div>
      {kind === 'search' ? <SearchTrial /> : <ModelTrial key={kind} kind={kind} />}
    </>
  );
};
