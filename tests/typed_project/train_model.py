"""Train, save and load."""

from __future__ import annotations

from typing import assert_type

from hf_corefel import (
    Cluster,
    CorefELConfig,
    CorefELModel,
    CorefELPipeline,
    CorefELProcessor,
    CorefELTrainer,
    CorefELTrainingArguments,
    Document,
    KnowledgeBase,
    Mention,
)
from hf_corefel.training import DocumentPrediction

gold = Document("Anna Berg met Moss.", clusters=[Cluster((Mention(0, 9),), "Anna_Berg"), Cluster((Mention(14, 18),))])
knowledge_base = KnowledgeBase.build([("Anna Berg", [("Anna_Berg", 1.0)])])
model = CorefELModel.from_encoder("some/encoder", head="global", entity_vector_size=knowledge_base.vector_size)
assert_type(model, CorefELModel)
assert_type(model.config, CorefELConfig)
processor = CorefELProcessor.from_pretrained("some/model", knowledge_base=knowledge_base)
assert_type(processor, CorefELProcessor)


def metrics(prediction: DocumentPrediction) -> dict[str, float]:
    return {"documents": float(len(prediction.predictions))}


trainer = CorefELTrainer(
    model,
    CorefELTrainingArguments(output_dir="runs/mine", num_train_epochs=2, encoder_learning_rate=5e-5),
    processor,
    train_dataset=[gold],
    eval_dataset=[gold],
    compute_metrics=metrics,
)
trainer.train()
model.save_pretrained("mine")
processor.save_pretrained("mine")
pipe = CorefELPipeline(model, processor, task="coref-el")
pipe.save_pretrained("mine")
